import PushModel
import Testing

@Suite struct WebOriginTests {
    @Test(arguments: [
        ("https://app.example.com", "https://app.example.com"), ("HTTPS://App.Example.com", "https://app.example.com"),
        ("https://app.example.com:443", "https://app.example.com"),
        ("https://app.example.com:8443", "https://app.example.com:8443"), ("http://localhost", "http://localhost"),
        ("http://localhost:80", "http://localhost"), ("http://localhost:5173", "http://localhost:5173"),
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000"), ("http://[::1]:3000", "http://[::1]:3000"),
        ("https://[2001:db8::1]", "https://[2001:db8::1]"),
    ])
    func originsAreWrittenAsBrowsersDo(text: String, origin: String) throws {
        #expect(try WebOrigin(text).text == origin)
    }

    @Test(arguments: [
        "", "*", "null", "https://", "https://*", "https://*.example.com", "https://app.example.com/",
        "https://app.example.com/path", "https://app.example.com?x", "https://user@app.example.com", "app.example.com",
        "//app.example.com", "ftp://app.example.com", "https://app.example.com:", "https://app.example.com:0",
        "https://app.example.com:65536", "https://app.example.com:+443", "https://app.example.com:0443",
        "https://app..example.com", "https://app example.com", "https://bücher.example", "https://[::1", "https://[x]",
        "http://app.example.com", "http://localhost.example.com", "https://a, https://b", "https://a\r\nX: y",
    ])
    func everythingElseIsRefused(text: String) {
        #expect(throws: InvalidValue.self) { try WebOrigin(text) }
    }
}
