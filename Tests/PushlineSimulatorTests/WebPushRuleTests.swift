import Crypto
import Foundation
import NIOCore
import PushModel
import Testing

@testable import PushlineSimulator

@Suite struct WebPushRuleTests {
    private let keys: KeyMaterial
    private let browsers: SimulatedBrowsers
    private let browser: SimulatedBrowsers.Browser
    private let origin = "https://127.0.0.1:8443"

    init() throws {
        self.keys = try KeyMaterial.load(folder: nil)
        self.browsers = SimulatedBrowsers(self.keys)
        self.browser = try #require(self.browsers.browser("ann", at: "https://127.0.0.1:8443/web/"))
    }

    private func authorization(
        key: P256.Signing.PrivateKey? = nil,
        shown: P256.Signing.PublicKey? = nil,
        header: String = #"{"typ":"JWT","alg":"ES256"}"#,
        audience: String? = nil,
        end: Double = 3600,
        subject: String? = "mailto:a@example.com"
    ) throws -> String {
        let claims = JSONValue.members([
            "aud": .string(audience ?? self.origin), "exp": .integer(Int(Date.now.timeIntervalSince1970 + end)),
            "sub": subject.map(JSONValue.string),
        ])
        let signed = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(claims.bytes))"
        let signature = try (key ?? self.keys.vapidKey).signature(for: Data(signed.utf8)).rawRepresentation
        let publicKey = (shown ?? self.keys.vapidKey.publicKey).x963Representation
        return "vapid t=\(signed).\(Base64URL.encode(signature)), k=\(Base64URL.encode(publicKey))"
    }

    private func check(
        _ authorization: String?,
        _ headers: [String: String] = ["ttl": "60"],
        method: String = "POST",
        body: [UInt8] = [],
        browser: SimulatedBrowsers.Browser?? = nil
    ) -> String {
        var fields = headers.map { InboundRequest.Field(name: $0.key, value: $0.value) }
        if let authorization { fields.append(.init(name: "authorization", value: authorization)) }
        let request = InboundRequest(
            method: method,
            path: "/web/ann",
            fields: fields,
            body: ByteBuffer(bytes: body.prefix(InboundRequest.maximumBody)),
            bodySize: body.count
        )
        let rules = WebPushRules(key: self.keys.vapidKey.publicKey)
        switch rules.check(request, origin: self.origin, browser ?? self.browser) {
        case .success(let message): return message.map { String(decoding: $0, as: UTF8.self) } ?? "empty"
        case .failure(let rejection): return "\(rejection.status) \(rejection.reason)"
        }
    }

    @Test func tokens() throws {
        let other = P256.Signing.PrivateKey()
        #expect(self.check(try self.authorization()) == "empty")
        #expect(self.check(nil) == "401 MissingAuthorizationHeader")
        #expect(self.check("Bearer x") == "403 BadAuthorizationHeader")
        #expect(self.check("vapid t=a.b.c") == "403 BadAuthorizationHeader")
        #expect(self.check(try self.authorization(key: other)) == "403 BadJwtToken")
        #expect(self.check(try self.authorization(key: other, shown: other.publicKey)) == "403 VapidPkHashMismatch")
        #expect(self.check(try self.authorization(audience: "https://127.0.0.1")) == "403 BadJwtToken")
        #expect(self.check(try self.authorization(end: -1)) == "403 BadJwtToken")
        #expect(self.check(try self.authorization(end: 86_500)) == "403 BadJwtToken")
        #expect(self.check(try self.authorization(subject: nil)) == "403 BadJwtToken")
        #expect(self.check(try self.authorization(subject: "me")) == "403 BadJwtToken")
        #expect(self.check(try self.authorization(header: #"{"alg":"none"}"#)) == "403 BadJwtToken")
    }

    /// RFC 8292's example (section 2.4), whose private key nobody here has.
    @Test func theExampleOfATokenIsVerified() throws {
        let text =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
        let shown = try Self.bytes(
            "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        )
        let key = try P256.Signing.PublicKey(x963Representation: shown)
        let token = try #require(SignedToken(text))
        #expect(token.isSigned(by: key))
        #expect(token.header["alg"] as? String == "ES256" && token.seconds("exp") == 1_453_523_768)
        #expect(token.claims["aud"] as? String == "https://push.example.net")
        #expect(token.claims["sub"] as? String == "mailto:push@example.com")
        #expect(!token.isSigned(by: self.keys.vapidKey.publicKey))
        // Another audience, and another signature.
        for (old, new) in [("L3B1c2guZXhh", "L3B1c2guZXhi"), ("i3CYb7t4", "i3CYb7t5")] {
            let forged = text.replacing(old, with: new)
            #expect(forged != text)
            let isSigned = SignedToken(forged)?.isSigned(by: key) ?? false
            #expect(!isSigned, "\(new)")
        }
    }

    @Test func headers() throws {
        let token = try self.authorization()
        #expect(self.check(token, [:]) == "400 BadTtl")
        #expect(self.check(token, ["ttl": "-1"]) == "400 BadTtl")
        #expect(self.check(token, ["ttl": ""]) == "400 BadTtl")
        #expect(self.check(token, ["ttl": "0", "urgency": "very-low", "topic": "a_-9"]) == "empty")
        #expect(self.check(token, ["ttl": "0", "urgency": "urgent"]) == "400 BadUrgency")
        for topic in ["a b", "order", "a_-9a", "ab", "abd", "abcdAB", "AAAA="] {
            #expect(self.check(token, ["ttl": "0", "topic": topic]) == "400 BadWebPushTopic", "\(topic)")
        }
        #expect(self.check(token, ["ttl": "0", "topic": "abcdAA"]) == "empty")
        #expect(self.check(token, ["ttl": "0", "topic": String(repeating: "a", count: 33)]) == "400 BadWebPushTopic")
        #expect(self.check(token, method: "PUT") == "405 MethodNotAllowed")
        #expect(self.check(token, browser: .some(nil)) == "404 BadPath")
    }

    /// RFC 8291's example, which this reader did not write.
    @Test func aBrowserReadsTheExampleAndNothingElse() throws {
        let decode = { (text: String) throws in try #require(Base64URL.decode(text)) }
        let key = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: decode("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
        )
        let browser = SimulatedBrowsers.Browser(
            key: key,
            publicKey: Array(key.publicKey.x963Representation),
            authenticationSecret: try decode("BTBZMqHH6r4Tts7J_aSIgg"),
            handle: ""
        )
        let body = try decode(
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        )
        let token = try self.authorization()
        let headers = ["ttl": "60", "content-encoding": "aes128gcm"]
        #expect(
            self.check(token, headers, body: body, browser: browser) == "When I grow up, I want to be a watermelon"
        )
        #expect(self.check(token, headers, body: body) == "400 BadWebPushRequest")
        #expect(self.check(token, ["ttl": "60"], body: body, browser: browser) == "400 BadWebPushRequest")
        // Any byte: salt, size of records (unless it is still large enough), key, text and tag.
        for index in [0, 15, 20, 21, 22, 85, 86, 120, body.count - 1] {
            var wrong = body
            wrong[index] ^= 1
            #expect(self.check(token, headers, body: wrong, browser: browser) == "400 BadWebPushRequest", "\(index)")
        }
        for length in [1, 85, 86, 102, 103, body.count - 1] {
            let short = Array(body.prefix(length))
            #expect(self.check(token, headers, body: short, browser: browser) == "400 BadWebPushRequest", "\(length)")
        }
        let long = [UInt8](repeating: 0, count: 4097)
        #expect(self.check(token, headers, body: long, browser: browser) == "413 PayloadTooLarge")
    }

    /// A body for the browser whose one record holds this, delimiter and padding included: in order but for what is in it.
    private func sealed(_ record: [UInt8]) throws -> [UInt8] {
        let key = P256.KeyAgreement.PrivateKey()
        let sender = key.publicKey.x963Representation
        let salt = Data(repeating: 7, count: 16)
        let receiver = try P256.KeyAgreement.PublicKey(x963Representation: self.browser.publicKey)
        let material = try key.sharedSecretFromKeyAgreement(with: receiver).hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: self.browser.authenticationSecret,
            sharedInfo: Data("WebPush: info\0".utf8) + self.browser.publicKey + sender,
            outputByteCount: 32
        )
        // HKDF of at most one block (RFC 5869), in its two steps.
        let extracted = SymmetricKey(
            data: HKDF<SHA256>.extract(inputKeyMaterial: material, salt: salt)
        )
        func derive(_ info: String, _ count: Int) -> Data {
            let input = Array("Content-Encoding: \(info)\0\u{1}".utf8)
            let block = HMAC<SHA256>.authenticationCode(for: input, using: extracted)
            return Data(Array(block).prefix(count))
        }
        let box = try AES.GCM.seal(
            record,
            using: SymmetricKey(data: derive("aes128gcm", 16)),
            nonce: AES.GCM.Nonce(data: derive("nonce", 12))
        )
        var body = Array(salt)
        body += [0, 0, 16, 0]
        body.append(UInt8(sender.count))
        body += sender
        body += box.ciphertext
        body += box.tag
        return body
    }

    /// RFC 8188, section 2: a message's only record is its last one, and ends with 2 and zeros.
    @Test func aRecordThatEndsOtherwiseIsRefused() throws {
        let token = try self.authorization()
        let headers = ["ttl": "60", "content-encoding": "aes128gcm"]
        let text = Array("hello".utf8)
        let right: [[UInt8]] = [[2], [2, 0], [2, 0, 0, 0]]
        for end in right {
            let body = try self.sealed(text + end)
            #expect(self.check(token, headers, body: body) == "hello", "\(end)")
        }
        // The delimiter of a record that others follow, one that there is not, and none.
        let wrong: [[UInt8]] = [[1], [1, 0, 0], [2, 0, 1], [3], []]
        for end in wrong {
            let body = try self.sealed(text + end)
            #expect(self.check(token, headers, body: body) == "400 BadWebPushRequest", "\(end)")
        }
        // Zeros alone, and nothing.
        for count in [0, 1, 2, 100] {
            let body = try self.sealed([UInt8](repeating: 0, count: count))
            #expect(self.check(token, headers, body: body) == "400 BadWebPushRequest", "\(count)")
        }
    }

    // MARK: The examples of RFC 8188, which know their key without a browser

    private static func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

    /// Section 3.1: one record, and a key without an id.
    @Test func theFirstExampleOfTheCodingIsRead() throws {
        let body = try Self.bytes("I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
        let key = SymmetricKey(data: try Self.bytes("yqdlZ-tYemfogSmv7Ws5PQ"))
        let content = try #require(EncryptedContent(body))
        #expect(content.keyID.isEmpty)
        #expect(content.open(with: key) == Array("I am the walrus".utf8))
        #expect(content.open(with: SymmetricKey(data: [UInt8](repeating: 0, count: 16))) == nil)
        for index in [0, body.count - 17, body.count - 1] {
            var wrong = body
            wrong[index] ^= 1
            #expect(EncryptedContent(wrong)?.open(with: key) == nil, "\(index)")
        }
    }

    /// Section 3.2: two records of 25 bytes, and a key called `a1`.
    ///
    /// A push is one record, so the whole is refused; the first alone is read as far as its end, which says that another follows, and the
    /// second is none without the first.
    @Test func theSecondExampleOfTheCodingIsRefusedForItsRecords() throws {
        let body = try Self.bytes(
            "uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA"
        )
        let key = SymmetricKey(data: try Self.bytes("BO3ZVPxUlnLORbVGMpbT1Q"))
        let head = 16 + 4 + 1 + 2
        #expect(body.count == head + 25 + 25)
        #expect(EncryptedContent(body) == nil)
        let first = try #require(EncryptedContent(Array(body[..<(head + 25)])))
        #expect(Array(first.keyID) == Array("a1".utf8))
        #expect(first.padded(with: key).map(Array.init) == Array("I am th".utf8) + [1, 0])
        #expect(first.open(with: key) == nil)
        let second = try #require(EncryptedContent(Array(body[..<head] + body[(head + 25)...])))
        #expect(second.padded(with: key) == nil)
        // Nor by way of a request: the id is not a key of a sender.
        let headers = ["ttl": "60", "content-encoding": "aes128gcm"]
        #expect(self.check(try self.authorization(), headers, body: body) == "400 BadWebPushRequest")
    }

    @Test func browsersKeepTheirKeys() throws {
        let again = try #require(SimulatedBrowsers(self.keys).browser("ann", at: "https://127.0.0.1:8443/web/"))
        #expect(again.handle == self.browser.handle)
        let other = try #require(self.browsers.browser("ben", at: "https://127.0.0.1:8443/web/"))
        #expect(other.publicKey != self.browser.publicKey)
        #expect(self.browsers.browser("a b", at: "https://127.0.0.1:8443/web/") == nil)
    }
}
