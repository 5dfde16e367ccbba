import HubWire
import PushModel
import Testing

@Suite("Tokens and connection strings")
struct SASTokenTests {
    private static let key = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1vci1tb3JlIQ=="
    private let path = "/default/messages/"

    private func token(audience: String, expires: Timestamp = Timestamp(milliseconds: 4_000_000_000_000)) -> String {
        SASToken.make(audience: audience, rule: "Full", key: Self.key, expires: expires)
    }

    @Test(
        "Every client's audience covers its request",
        arguments: [
            // Java, PHP: the whole address with its port and query.
            "https://hub.example:8443/default/messages/?api-version=2020-06",
            // .NET: http, without the port, with a slash at the end.
            "http://hub.example/default/messages/",
            // JavaScript: the endpoint alone.
            "https://hub.example:8443/",
            // iOS: http, with the port.
            "http://hub.example:8443/default/messages/?api-version=2020-06",
            // Python: endpoint and hub.
            "https://hub.example:8443/default",
            "sb://hub.example/Default/Messages",
        ]
    )
    func audiences(audience: String) throws {
        let token = try #require(SASToken(header: self.token(audience: audience)))
        #expect(token.rule == "Full")
        #expect(token.isSigned(with: Self.key))
        #expect(token.covers(authority: "HUB.example:8443", path: self.path))
    }

    @Test(
        "A token for another host, hub or part is foreign",
        arguments: [
            "https://other.example/", "https://hub.example/other", "https://hub.example/def",
            "https://hub.example/default/messages/1", "hub.example", "https://hub.example.evil/default",
        ]
    )
    func foreign(audience: String) throws {
        let token = try #require(SASToken(header: self.token(audience: audience)))
        #expect(!token.covers(authority: "hub.example", path: self.path))
    }

    @Test("A signature is that of one key, audience and time")
    func signatures() throws {
        let header = self.token(audience: "https://hub.example/")
        let token = try #require(SASToken(header: header))
        #expect(!token.isSigned(with: "another"))
        // The text of the key signs, not what its base64 stands for.
        #expect(!token.isSigned(with: "secret-key-of-32-bytes-or-more!"))
        for (old, new) in [("hub.example", "hub2example"), ("se=4000000000", "se=5000000000")] {
            let forged = try #require(SASToken(header: header.replacing(old, with: new)))
            #expect(!forged.isSigned(with: Self.key), "\(new)")
        }
        let renamed = try #require(SASToken(header: header.replacing("skn=Full", with: "skn=Other")))
        #expect(renamed.rule == "Other")
    }

    @Test("A known token is made byte by byte")
    func vector() {
        // Made with Python's hmac: HMAC-SHA256 of the encoded audience, a line feed and the time.
        let made = SASToken.make(
            audience: "https://hub.example/default",
            rule: "Full Access",
            key: "key",
            expires: Timestamp(milliseconds: 1_800_000_000_000)
        )
        #expect(
            made
                == "SharedAccessSignature sr=https%3A%2F%2Fhub.example%2Fdefault&sig=cCyba%2B4QetBz%2FMlJq4l8o1JiDLdZsHTsE7pzjrKDnCA%3D&se=1800000000&skn=Full%20Access"
        )
    }

    @Test("Fields stand in any order, in either letter case of their escapes")
    func order() throws {
        let header = self.token(audience: "https://hub.example/")
        let fields = header.dropFirst("SharedAccessSignature ".count).split(separator: "&")
        let turned = "sharedaccesssignature " + fields.reversed().joined(separator: "&")
        #expect(try #require(SASToken(header: turned)).isSigned(with: Self.key))
    }

    @Test("A token ends in time")
    func expiry() throws {
        let end = Timestamp(milliseconds: 1_800_000_000_000)
        let token = try #require(SASToken(header: self.token(audience: "https://hub.example/", expires: end)))
        #expect(!token.hasExpired(at: Timestamp(milliseconds: end.milliseconds - 1000)))
        #expect(token.hasExpired(at: end))
    }

    @Test(
        "Anything else is no token",
        arguments: [
            "", "SharedAccessSignature", "SharedAccessSignature ", "Bearer x",
            "SharedAccessSignature sr=a&sig=b&se=c&skn=d",
            "SharedAccessSignature sr=a&sig=YQ==&se=1&skn=", "SharedAccessSignature sr=a&sig=%4&se=1&skn=d",
            "SharedAccessSignature sr=a&sig=YQ%3D%3D&se=-1&skn=d",
            "SharedAccessSignature sr=a&sr=b&sig=YQ==&se=1&skn=d",
            "SharedAccessSignature sig=YQ==&se=1&skn=d", "SharedAccessSignature sr=a&se=1&skn=d&sig",
            "SharedAccessSignature sr=a&sig=YQ==&se=99999999999999999999&skn=d",
            "SharedAccessSignature sr=a&sig=YQ==&se=١&skn=d", "SharedAccessSignature &&&&", "WRAP access_token=\"x\"",
            "SharedAccessSignature sr=\u{0}&sig=\u{0}&se=1&skn=%FF",
        ]
    )
    func malformed(header: String) { #expect(SASToken(header: header) == nil) }

    @Test("A connection string is read as the most tolerant client does")
    func connectionStrings() throws {
        let text = "Endpoint=sb://127.0.0.1:8443/;SharedAccessKeyName=Full;SharedAccessKey=ab+/c=="
        let read = try ConnectionString(text)
        #expect(read == ConnectionString(authority: "127.0.0.1:8443", rule: "Full", key: "ab+/c=="))
        #expect(read.text == text)
        #expect(read.endpoint == "https://127.0.0.1:8443/")
        #expect(
            try ConnectionString(
                " sharedaccesskey=ab+/c==;\nENDPOINT=https://127.0.0.1:8443 ;SharedAccessKeyName=Full;"
            ) == read
        )
    }

    @Test(
        "A wrong connection string is refused without its key",
        arguments: [
            "", "Endpoint=sb://h/", "Endpoint=sb://h/;SharedAccessKeyName=a",
            "Endpoint=http://h/;SharedAccessKeyName=a;SharedAccessKey=s3cret",
            "Endpoint=sb://h/;SharedAccessKeyName=a;SharedAccessKey=s3cret;SharedAccessKey=s3cret",
            "Endpoint=sb://h/x;SharedAccessKeyName=a;SharedAccessKey=s3cret",
            "Endpoint=sb:///;SharedAccessKeyName=a;SharedAccessKey=s3cret",
            "Endpoint=sb://h/;SharedAccessKeyName=;SharedAccessKey=s3cret", "s3cret",
            "Endpoint=sb://u@h/;SharedAccessKeyName=a;SharedAccessKey=s3cret",
        ]
    )
    func wrongConnectionStrings(text: String) {
        let fault = #expect(throws: InvalidValue.self) { try ConnectionString(text) }
        #expect(fault?.description.contains("s3cret") == false)
    }
}
