import Foundation
import InstallationSupport
import RawHTTP
import Synchronization
import Testing
import Undisturbed

/// Who knows no password keeps nobody out who knows one.
@Suite(.serialized, .installation(), .timeLimit(.minutes(3)), .undisturbed) struct SignInTests {
    @Test func aFloodOfWrongPasswordsDoesNotBlockCorrectOnes() async throws {
        let installation = try #require(EndToEndInstallation.current)
        #expect(try await installation.asUser("alice", "GET", "/api/jobs").status == 200)
        let flood = Flood(port: installation.port)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for connection in 0..<Flood.connections { group.addTask { await flood.run(connection) } }
            // All places are taken.
            try await eventually("the flood is under way") { flood.turnedAway > Flood.connections }
            for _ in 0..<10 {
                // Who was right before does not wait at all.
                let begin = ContinuousClock.now
                #expect(try await installation.asUser("alice", "GET", "/api/jobs").status == 200)
                #expect(ContinuousClock.now - begin < .seconds(1))
            }
            // Who comes for the first time waits for what is under way; carol for longer, as her password is being guessed.
            for (user, limit) in [("bob", Duration.seconds(15)), ("carol", .seconds(20))] {
                let begin = ContinuousClock.now
                let answer = try await installation.asUser(user, "GET", "/api/jobs")
                #expect(answer.status == 200, "\(user): \(String(decoding: answer.body, as: UTF8.self))")
                #expect(ContinuousClock.now - begin < limit, "\(user)")
            }
            group.cancelAll()
        }
    }
}

/// Wrong sign-ins from several addresses, for invented names and for carol.
private final class Flood: Sendable {
    static let addresses = 20
    /// More than may wait, on however many cores.
    static let connections = 300

    private let port: Int
    /// Requests that were answered 503.
    private let counted = Mutex(0)

    init(port: Int) { self.port = port }

    var turnedAway: Int { self.counted.withLock { $0 } }

    /// Tries until it is cancelled.
    func run(_ connection: Int) async {
        var number = 0
        while !Task.isCancelled {
            do {
                var raw = try await RawConnection.open(
                    port: self.port,
                    from: "127.0.0.\(2 + connection % Self.addresses)"
                )
                defer { raw.close() }
                while !Task.isCancelled {
                    number += 1
                    let name = number.isMultiple(of: 4) ? "carol" : "nobody-\(connection)-\(number)"
                    let answer = try await raw.exchange(Self.request(name, password: "\(number)"))
                    if answer.hasPrefix("HTTP/1.1 503 ") { self.counted.withLock { $0 += 1 } }
                    try await Task.sleep(for: .milliseconds(500))
                }
            } catch { continue }  // Closed or cancelled: the loop decides.
        }
    }

    private static func request(_ name: String, password: String) -> String {
        let login = Data("\(name):\(password)".utf8).base64EncodedString()
        return "GET /api/jobs HTTP/1.1\r\nHost: test\r\nAuthorization: Basic \(login)\r\n\r\n"
    }
}
