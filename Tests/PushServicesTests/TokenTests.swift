import Crypto
import Foundation
import NIOConcurrencyHelpers
import PushModel
import Testing
import Undisturbed

@testable import PushServices

@Suite("Tokens", .undisturbed)
struct TokenTests {
    @Test("a provider token is kept, replaced after its life, and never sooner than Apple allows")
    func providerToken() throws {
        let pem = Array(P256.Signing.PrivateKey().pemRepresentation.utf8)
        let tokens = try APNsProviderToken(pem: pem, keyID: "KEY0000001", teamID: "TEAM000001")
        let start = ContinuousClock.now
        let wall = Timestamp.now
        func after(_ minutes: Int) -> (ContinuousClock.Instant, Timestamp) {
            (start + .seconds(minutes * 60), wall.advanced(by: .seconds(minutes * 60)))
        }
        func token(after minutes: Int) throws -> APNsProviderToken.Token {
            let (now, wall) = after(minutes)
            return try tokens.token(now: now, wall: wall)
        }
        func token(replacing refused: APNsProviderToken.Token, after minutes: Int) throws -> APNsProviderToken.Token? {
            let (now, wall) = after(minutes)
            return try tokens.token(replacing: refused, now: now, wall: wall)
        }
        let first = try token(after: 0)
        #expect(try token(after: 44) == first)
        #expect(try token(replacing: first, after: 19) == nil)
        let second = try #require(try token(replacing: first, after: 21))
        #expect(second != first)
        // Another batch had the old one turned down as well: it gets the new one, and no third is made.
        #expect(try token(replacing: first, after: 22) == second)
        #expect(try token(after: 67) != second)
    }

    @Test(
        "a provider token stands while the clock is wrong, and one that was minted then goes when APNs refuses it",
        arguments: [-86_400, -90, 90, 3600]
    )
    func providerTokenOfAWrongClock(seconds: Int) throws {
        let pem = Array(P256.Signing.PrivateKey().pemRepresentation.utf8)
        let (start, wall) = (ContinuousClock.now, Timestamp.now)
        func wrong(after time: Int) -> Timestamp { wall.advanced(by: .seconds(seconds + time)) }
        let kept = try APNsProviderToken(pem: pem, keyID: "KEY0000001", teamID: "TEAM000001")
        let good = try kept.token(now: start, wall: wall)
        #expect(try kept.token(now: start + .seconds(60), wall: wrong(after: 60)) == good)
        #expect(try kept.token(now: start + .seconds(120), wall: wall.advanced(by: .seconds(119))) == good)

        let tokens = try APNsProviderToken(pem: pem, keyID: "KEY0000001", teamID: "TEAM000001")
        let bad = try tokens.token(now: start, wall: wrong(after: 0))
        // A new one would say the same.
        #expect(try tokens.token(replacing: bad, now: start + .seconds(30), wall: wrong(after: 30)) == nil)
        let set = (now: start + .seconds(60), wall: wall.advanced(by: .seconds(60)))
        #expect(try tokens.token(now: set.now, wall: set.wall) == bad)
        let right = try #require(try tokens.token(replacing: bad, now: set.now, wall: set.wall))
        #expect(right != bad && right.issued == set.wall)
        #expect(try tokens.token(replacing: right, now: set.now, wall: set.wall) == nil)
    }

    @Test("a provider token has the claims and the raw signature that Apple wants")
    func providerTokenForm() throws {
        let key = P256.Signing.PrivateKey()
        let tokens = try APNsProviderToken(pem: Array(key.pemRepresentation.utf8), keyID: "K1", teamID: "T1")
        let parts = try tokens.token().text.split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        func decoded(_ text: String) throws -> Data {
            let padded = text.replacing("-", with: "+").replacing("_", with: "/")
            return try #require(Data(base64Encoded: padded + String(repeating: "=", count: (4 - padded.count % 4) % 4)))
        }
        #expect(String(decoding: try decoded(parts[0]), as: UTF8.self) == #"{"alg":"ES256","kid":"K1"}"#)
        let signature = try P256.Signing.ECDSASignature(rawRepresentation: decoded(parts[2]))
        #expect(key.publicKey.isValidSignature(signature, for: Data("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test("an invalid key is refused without being shown")
    func noKey() {
        let error = #expect(throws: SenderError.self) {
            try APNsProviderToken(pem: Array("very secret".utf8), keyID: "K1", teamID: "T1")
        }
        #expect(error?.message.contains("apns.key_file") == true)
        #expect(error?.message.contains("secret") == false)
        #expect(throws: SenderError.self) {
            try APNsProviderToken(
                pem: Array(P256.Signing.PrivateKey().pemRepresentation.utf8),
                keyID: "K\"1",
                teamID: "T1"
            )
        }
    }

    /// Counts how often a token was fetched.
    final class Counter: Sendable {
        private let count = NIOLockedValueBox(0)
        var value: Int { self.count.withLockedValue { $0 } }
        func next() -> Int {
            self.count.withLockedValue {
                $0 += 1
                return $0
            }
        }
    }

    @Test("concurrent requests share one fetch")
    func singleFlight() async throws {
        let counter = Counter()
        let tokens = AccessTokens { _ throws(TokenFault) in
            let number = counter.next()
            try? await Task.sleep(for: .milliseconds(50))
            return AccessToken(text: "t\(number)", lifetime: .seconds(3600))
        }
        let got = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 {
                group.addTask { try? await tokens.token(deadline: .now + .seconds(5)) }
            }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(got == ["t1"])
        #expect(counter.value == 1)
        // Turned down by the service: fetched once more, by whoever comes first.
        let fresh = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<50 {
                group.addTask { try? await tokens.token(replacing: "t1", deadline: .now + .seconds(5)) }
            }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(fresh == ["t2"])
        #expect(counter.value == 2)
    }

    @Test("a token is replaced before it ends")
    func refresh() async throws {
        let counter = Counter()
        let tokens = AccessTokens { _ throws(TokenFault) in
            AccessToken(text: "t\(counter.next())", lifetime: .milliseconds(200))
        }
        #expect(try await tokens.token(deadline: .now + .seconds(1)) == "t1")
        try await Task.sleep(for: .milliseconds(190))
        #expect(try await tokens.token(deadline: .now + .seconds(1)) == "t2")
    }

    @Test("a failing token service is not asked again at once")
    func failure() async {
        let counter = Counter()
        let tokens = AccessTokens { _ throws(TokenFault) in
            _ = counter.next()
            throw .misconfigured(reason: "invalid_grant", status: 400)
        }
        for _ in 0..<3 {
            await #expect(throws: TokenFault.misconfigured(reason: "invalid_grant", status: 400)) {
                try await tokens.token(deadline: .now + .seconds(1))
            }
        }
        #expect(counter.value == 1)
    }

    @Test("a shared fetch does not outlast the waiter's deadline", .timeLimit(.minutes(5)))
    func waiterDeadline() async {
        let (answer, letAnswer) = AsyncStream<Void>.makeStream()
        let tokens = AccessTokens { _ throws(TokenFault) in
            for await _ in answer {}
            return AccessToken(text: "late", lifetime: .seconds(3600))
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await tokens.token(deadline: .now + .seconds(60)) }
            try? await Task.sleep(for: .milliseconds(50))
            // The fetch ends after it alone.
            await #expect(throws: TokenFault.self) { try await tokens.token(deadline: .now + .milliseconds(100)) }
            letAnswer.finish()
            await group.waitForAll()
        }
    }

    @Test(
        "a token service's answers",
        arguments: [
            (#"{"access_token":"a","expires_in":3599}"#, 3599), (#"{"access_token":"a","expires_in":"86399"}"#, 86_399),
            (#"{"access_token":"a"}"#, 1800), (#"{"access_token":"a","expires_in":-5}"#, 1),
            (#"{"access_token":"a","expires_in":1e300}"#, 1800),
        ]
    )
    func grant(body: String, lifetime: Int) throws {
        let token = try TokenEndpoint.read(status: 200, body: Data(body.utf8), retryAfter: nil)
        #expect(token == AccessToken(text: "a", lifetime: .seconds(lifetime)))
    }

    @Test("a token that does not fit a header is refused", arguments: [#"a\r\nb"#, "", "a b"])
    func hostileToken(text: String) {
        #expect(throws: TokenFault.self) {
            try TokenEndpoint.read(status: 200, body: Data(#"{"access_token":"\#(text)"}"#.utf8), retryAfter: nil)
        }
    }

    static let refusals: [(Int, String, TokenFault)] = [
        (400, "invalid_grant", .misconfigured(reason: "token service: invalid_grant", status: 400)),
        (400, "invalid_scope", .misconfigured(reason: "token service: invalid_scope", status: 400)),
        (401, "invalid_client", .misconfigured(reason: "token service: invalid_client", status: 401)),
        (429, "slow_down", .later(after: .seconds(4), reason: "token service: slow_down", status: 429)),
        (503, "", .later(after: .seconds(4), reason: "token service: ", status: 503)),
    ]

    @Test("a token service's refusals", arguments: TokenTests.refusals)
    func refusal(status: Int, word: String, fault: TokenFault) {
        #expect(throws: fault) {
            try TokenEndpoint.read(status: status, body: Data(#"{"error":"\#(word)"}"#.utf8), retryAfter: .seconds(4))
        }
    }
}
