import Crypto
import Foundation
import PushModel
import PushlineSimulator
import Testing
import Undisturbed

@testable import PushServices

@Suite("Web Push", .serialized, .undisturbed)
struct WebPushTests {
    private static func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

    /// RFC 8291, section 5 and appendix A.
    @Test("the RFC's example is encrypted byte by byte")
    func vector() throws {
        let subscription = WebPushSubscription(
            endpoint: try WebPushEndpoint("https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV"),
            publicKey: try Self.bytes(
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            ),
            authenticationSecret: try Self.bytes("BTBZMqHH6r4Tts7J_aSIgg")
        )
        let body = try WebPushEncryption.encrypt(
            Array("When I grow up, I want to be a watermelon".utf8),
            for: subscription,
            key: P256.KeyAgreement.PrivateKey(
                rawRepresentation: Self.bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
            ),
            salt: Self.bytes("DGv6ra1nlYgDCS1FRnbzlw")
        )
        #expect(
            Base64URL.encode(body)
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        )
    }

    @Test("no two messages have the same key or salt, and the largest fits 4,096 bytes")
    func fresh() throws {
        let key = P256.KeyAgreement.PrivateKey()
        let subscription = WebPushSubscription(
            endpoint: try WebPushEndpoint("https://push.example.net/a"),
            publicKey: Array(key.publicKey.x963Representation),
            authenticationSecret: WebPushEncryption.salt()
        )
        let message = [UInt8](repeating: 7, count: 3993)
        let (one, other) = (
            try WebPushEncryption.encrypt(message, for: subscription),
            try WebPushEncryption.encrypt(message, for: subscription)
        )
        #expect(one.count == 4096)
        #expect(one[..<16] != other[..<16])
        #expect(one[21..<86] != other[21..<86])
    }

    private static func tokens() throws -> (VAPIDTokens, P256.Signing.PrivateKey) {
        let key = P256.Signing.PrivateKey()
        let publicKey = Base64URL.encode(key.publicKey.x963Representation)
        return (
            try VAPIDTokens(
                pem: Array(key.pemRepresentation.utf8),
                publicKey: publicKey,
                subject: "mailto:push@example.com"
            ), key
        )
    }

    @Test("a token is signed for its origin, and kept")
    func tokens() throws {
        let (tokens, key) = try Self.tokens()
        let wall = Timestamp(milliseconds: 1_700_000_000_000)
        let now = ContinuousClock.now
        let token = try tokens.token(for: "https://push.example.net", now: now, wall: wall)
        let parts = try #require(token.authorization.wholeMatch(of: /vapid t=([^,.]+)\.([^,.]+)\.([^,.]+), k=(.+)/))
            .output
        #expect(String(decoding: try Self.bytes(String(parts.1)), as: UTF8.self) == #"{"alg":"ES256","typ":"JWT"}"#)
        let claims = String(decoding: try Self.bytes(String(parts.2)), as: UTF8.self)
        #expect(
            claims == #"{"aud":"https://push.example.net","exp":1700043200,"sub":"mailto:push@example.com"}"#
        )
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: Self.bytes(String(parts.3)))
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts.1).\(parts.2)".utf8)))
        #expect(try Self.bytes(String(parts.4)) == Array(key.publicKey.x963Representation))

        let hour = Duration.seconds(3600)
        #expect(
            try tokens.token(for: "https://push.example.net", now: now + hour, wall: wall.advanced(by: hour)) == token
        )
        #expect(try tokens.token(for: "https://other.example.net", now: now, wall: wall) != token)
        #expect(
            try tokens.token(for: "https://push.example.net", now: now + hour * 7, wall: wall.advanced(by: hour * 7))
                != token
        )
    }

    @Test("a young token that is refused is not replaced; an old one is, once")
    func replacement() throws {
        let (tokens, _) = try Self.tokens()
        let (now, wall, origin) = (ContinuousClock.now, Timestamp.now, "https://push.example.net")
        let token = try tokens.token(for: origin, now: now, wall: wall)
        #expect(try tokens.token(replacing: token, for: origin, now: now + .seconds(3599), wall: wall) == nil)
        let fresh = try #require(try tokens.token(replacing: token, for: origin, now: now + .seconds(3600), wall: wall))
        #expect(fresh != token)
        #expect(try tokens.token(replacing: token, for: origin, now: now + .seconds(3601), wall: wall) == fresh)
    }

    @Test("the signature of RFC 8292 is good by the same rules")
    func publishedToken() throws {
        let token =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0"
        let signature = try P256.Signing.ECDSASignature(
            rawRepresentation: Self.bytes(
                "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA"
            )
        )
        let key = try #require(
            WebPushSubscription.key(
                "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
            )
        )
        let publicKey = try P256.Signing.PublicKey(x963Representation: key)
        #expect(publicKey.isValidSignature(signature, for: Data(token.utf8)))
        #expect(!publicKey.isValidSignature(signature, for: Data((token + "x").utf8)))
    }

    @Test("keys that are none, or not a pair, are explained")
    func wrongKeys() throws {
        let key = P256.Signing.PrivateKey()
        let pem = Array(key.pemRepresentation.utf8)
        let publicKey = Base64URL.encode(key.publicKey.x963Representation)
        let other = Base64URL.encode(P256.Signing.PrivateKey().publicKey.x963Representation)
        func fault(_ pem: [UInt8], _ publicKey: String, _ subject: String) -> String? {
            do throws(SenderError) {
                _ = try VAPIDTokens(pem: pem, publicKey: publicKey, subject: subject)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(fault(pem, publicKey, "https://example.com") == nil)
        #expect(fault([1], publicKey, "mailto:a@b")?.contains("web.private_key_file") == true)
        #expect(fault(pem, other, "mailto:a@b")?.contains("web.public_key") == true)
        #expect(fault(pem, publicKey, "me")?.contains("web.subject") == true)
    }

    @Test("headers, and what the browser reads")
    func push() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.web, 1)
            batch.priority = .high
            batch.collapse = "score of the match"
            batch.keepUntil = Timestamp.now.advanced(by: .seconds(90))
            #expect(try await senders.sender(.web).send(batch) == [.accepted])
            let push = try #require(senders.simulator.received().last)
            #expect(push.status == 201)
            #expect(push.body == #"{"message":"From test: hello"}"#)
            #expect(push.token == (try senders.handle(.web, 0)))
            #expect(push.headers["urgency"] == "high")
            #expect(push.headers["topic"]?.utf8.count == 32)
            #expect((85...90).contains(Int(push.headers["ttl"] ?? "") ?? 0))
            #expect(push.headers["content-encoding"] == "aes128gcm")
            #expect(push.headers["authorization"]?.hasPrefix("vapid t=") == true)
            let another = try senders.batch(.web, 3)
            #expect(try await senders.sender(.web).send(another) == [.accepted, .accepted, .accepted])
            #expect(Set(senders.simulator.received().map { $0.headers["authorization"] }).count == 1)
        }
    }

    @Test(
        "answers",
        arguments: [
            ("Unsubscribed", 410), ("BadPath", 404), ("VapidPkHashMismatch", 403), ("BadJwtToken", 403),
            ("PayloadTooLarge", 413), ("BadWebPushRequest", 400), ("TooManyRequests", 429), ("ServiceUnavailable", 503),
        ]
    )
    func answers(reason: String, status: Int) async throws {
        try await Senders.with { senders in
            senders.simulator.inject(
                SimulatorFault(
                    .answer(reason: reason, retryAfter: status == 429 ? .seconds(7) : nil),
                    token: try senders.handle(.web, 1)
                )
            )
            let results = try await senders.sender(.web).send(senders.batch(.web, 3))
            #expect(results[0] == .accepted && results[2] == .accepted)
            switch results[1] {
            case .dead(_, let words, status):
                #expect(status != 403 || words == "\(WebPushAnswers.foreignKey): \(reason)")
            case .rejected(reason, status): #expect([400, 413].contains(status))
            case .retry(let after, .device, true, reason, status): #expect(after == (status == 429 ? .seconds(7) : nil))
            default: Issue.record("\(results[1])")
            }
            #expect(senders.simulator.counts.web.requests == 3)
        }
    }

    @Test("how other push services say the same")
    func otherWords() {
        func answer(_ status: Int, _ body: String) -> AnswerClass {
            WebPushAnswers.answer(status: status, retryAfter: nil, body: body).answer
        }
        #expect(answer(401, #"{"errno":109,"message":"VAPID public key mismatch"}"#) == .drop)
        let google =
            "the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions."
        #expect(answer(403, google) == .drop)
        #expect(answer(400, #"{"reason":"VapidPkHashMismatch"}"#) == .drop)
        #expect(answer(201, "") == .accepted && answer(200, "") == .accepted && answer(202, "") == .accepted)
        #expect(answer(301, "") == .permanent && answer(308, "") == .permanent)
        #expect(answer(406, "") == .waitDevice && answer(500, "") == .waitDevice && answer(502, "") == .waitDevice)
        #expect(
            WebPushAnswers.answer(status: 400, retryAfter: nil, body: #"{"message":"Bad TTL"}"#).reason == "Bad TTL"
        )
        #expect(WebPushAnswers.answer(status: 503, retryAfter: .seconds(9), body: "").retryAfter == .seconds(9))
        // More than a word, and bounded.
        #expect(WebPushAnswers.answer(status: 403, retryAfter: nil, body: google).reason.hasSuffix(google))
        let long = String(repeating: "x\u{1B}", count: 5000)
        #expect(
            WebPushAnswers.answer(status: 400, retryAfter: nil, body: long).reason == String(repeating: "x", count: 200)
        )
    }

    @Test("handles of elsewhere are sent nothing")
    func forged() async throws {
        try await Senders.with { senders in
            let real = try WebPushSubscription(handle: senders.handle(.web, 0))
            let elsewhere = try ["https://127.0.0.1:1/web/0", "https://example.com/web/0"].map {
                WebPushSubscription(
                    endpoint: try WebPushEndpoint($0),
                    publicKey: real.publicKey,
                    authenticationSecret: real.authenticationSecret
                ).handle
            }
            let batch = try senders.batch(.web, handles: elsewhere + ["x", real.handle])
            let results = try await senders.sender(.web).send(batch)
            for result in results.dropLast() {
                guard case .rejected(_, nil) = result else {
                    Issue.record("\(result)")
                    return
                }
            }
            #expect(results.last == .accepted)
            #expect(senders.simulator.counts.web.requests == 1)
        }
    }
}
