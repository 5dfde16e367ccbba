import HTTPTypes
import HummingbirdTesting
import NIOConcurrencyHelpers
import PushModel
import RawHTTP
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// A job's changes as server-sent events.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct JobEventTests {
    private static var live: Harness.Options {
        var options = Harness.Options()
        options.setup = .live
        options.hub = .onlyRegisters
        return options
    }

    /// A send that nobody works on.
    private static func send(_ api: Harness, as caller: Harness.As = .user("alice")) async throws -> String {
        let answer = try await api.call(.post, "/api/sends", as: caller, body: #"{"to":{"user":"bob"},"body":"x"}"#)
        return try #require(answer.json["href"]?.text)
    }

    /// Asks for the events of a job.
    ///
    /// - Returns: The connection, and what came up to the first event.
    private static func watch(
        _ api: Harness,
        _ path: String,
        _ headers: [String]
    ) async throws -> (connection: RawConnection, text: String) {
        var connection = try await RawConnection.open(port: try #require(api.client.port))
        let head = ["GET \(path)/events HTTP/1.1", "Host: a", "Connection: close"] + headers
        try await connection.write(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8))
        return (connection, try await connection.text(to: "}\n\n"))
    }

    private static func authorization(_ caller: Harness.As) throws -> [String] {
        ["Authorization: \(try #require(caller.header))"]
    }

    private static func states(_ text: String) throws -> [String?] {
        try text.split(separator: "\n").filter { $0.hasPrefix("data: ") }
            .map { try JSONReader.read(Array($0.dropFirst(6).utf8))["state"]?.text }
    }

    @Test func thePresentStateComesAtOnceAndTheLastOneEndsTheEvents() async throws {
        try await Harness.run(Self.live) { api async throws in
            let path = try await Self.send(api)
            var (connection, text) = try await Self.watch(api, path, try Self.authorization(.user("alice")))
            let head = text.lowercased()
            for line in [
                "http/1.1 200 ok", "content-type: text/event-stream", "cache-control: no-store, no-transform",
                "x-accel-buffering: no", "retry: 2000\n", "event: job\n",
            ] { #expect(head.contains(line), "\(line): \(text)") }
            #expect(try Self.states(text) == ["queued"])
            #expect(try await api.call(.delete, path).json["state"]?.text == "cancelled")
            text = try await connection.rest()
            #expect(try Self.states(text) == ["cancelled"])
            #expect(text.hasSuffix("\r\n0\r\n\r\n"), "whole: \(text)")
            let job = try await api.call(.get, path)
            // As the job itself says it.
            #expect(text.contains("event: job\ndata: \(job.text)\n\n"))
            // Whoever comes after the end is told it, and nothing is left open.
            let late = try await api.call(.get, "\(path)/events")
            #expect(late.status == 200 && late.text == "event: job\ndata: \(job.text)\n\n")
            #expect(late.headers[.contentType] == "text/event-stream")
        }
    }

    @Test func whoMayNotSeeAJobIsToldNothingOfIt() async throws {
        try await Harness.run { api async throws in
            let path = try await Self.send(api)
            #expect(try await api.call(.get, "\(path)/events", as: .user("bob")).status == 404)
            #expect(try await api.call(.get, "\(path)/events", as: try await api.key(.sender)).status == 404)
            #expect(try await api.call(.get, "\(path)/events", as: .nobody).status == 401)
            #expect(try await api.call(.get, "\(path)/events?x=1").status == 400)
            for id in ["x", "00000000-0000-7000-8000-000000000000", "%00"] {
                #expect(try await api.call(.get, "/api/jobs/\(id)/events").status == 404)
            }
            let other = path.replacing("/api/", with: "/api/apps/other/", maxReplacements: 1)
            let alice = Harness.As.basic("alice", "other-password")
            #expect(try await api.call(.get, "\(other)/events", as: alice).status == 404)
            // Nobody reads what a HEAD would open.
            let head = try await api.call(.head, "\(path)/events", as: .user("root"))
            #expect(head.status == 200 && head.bytes.isEmpty)
        }
    }

    /// An `EventSource` of another page, with its visitor's cookie.
    @Test func aPageOfOthersIsToldNothing() async throws {
        try await Harness.run { api async throws in
            let path = try await Self.send(api)
            let cookie = try await SessionTests.signIn(api)
            func ask(_ headers: [String: String]) async throws -> Int {
                // A HEAD is asked the same, and ends.
                try await SessionTests.call(api, .head, "\(path)/events", cookie, headers: headers).status
            }
            for site in ["cross-site", "same-site", ""] {
                #expect(try await ask(["Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"]) == 403, "\(site)")
            }
            #expect(try await ask(["Origin": "https://evil.example"]) == 403)
            #expect(try await ask(["Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"]) == 200)
        }
    }

    @Test func aCallerMayWatchSevenEighthsAndOthersTheRest() async throws {
        var options = Self.live
        options.configuration.jobWatchers = 8
        try await Harness.run(options) { api async throws in
            let path = try await Self.send(api)
            // Opens none.
            for _ in 0..<9 { #expect(try await api.call(.head, "\(path)/events").status == 200) }
            var connections: [RawConnection] = []
            for _ in 0..<7 {
                let (connection, text) = try await Self.watch(api, path, try Self.authorization(.user("alice")))
                #expect(try Self.states(text) == ["queued"])
                connections.append(connection)
            }
            let refused = try await api.call(.get, "\(path)/events")
            #expect(refused.status == 503 && refused.headers[.retryAfter] == "10", "\(refused.text)")
            let (root, text) = try await Self.watch(api, path, try Self.authorization(.user("root")))
            #expect(try Self.states(text) == ["queued"])
            root.close()
            #expect(try await api.call(.delete, path).status == 200)
            for var connection in connections { _ = try await connection.rest() }
            // Their places are free.
            let next = try await Self.send(api)
            let (last, _) = try await Self.watch(api, next, try Self.authorization(.user("alice")))
            last.close()
        }
    }

    /// What lets somebody watch.
    enum Way: CaseIterable, Sendable {
        case session, sessionOfChangedPassword, disabledAccount, changedPassword, removedAccount, revokedKey, lesserRole
    }

    @Test(arguments: Way.allCases) func whoMayNotAskAnyMoreIsToldNothingAnyMore(way: Way) async throws {
        try await Harness.run(Self.live) { api async throws in
            let root = Harness.As.user("root")
            func change(_ account: String) async throws {
                let answer = try await api.call(.patch, "/api/accounts/alice", as: root, body: account)
                #expect(answer.status == 200, "\(answer.text)")
            }
            let path: String
            var headers = try Self.authorization(.user("alice"))
            let end: () async throws -> Void
            switch way {
            case .session, .sessionOfChangedPassword:
                path = try await Self.send(api)
                let cookie = try await SessionTests.signIn(api)
                headers = ["Cookie: \(cookie)", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors"]
                end = {
                    guard way == .session else { return try await change(#"{"password":"another-password"}"#) }
                    let ended = try await SessionTests.call(api, .delete, "/api/session", cookie)
                    #expect(ended.status == 204)
                }
            case .disabledAccount:
                path = try await Self.send(api)
                end = { try await change(#"{"disabled":true}"#) }
            case .changedPassword:
                path = try await Self.send(api)
                end = { try await change(#"{"password":"another-password"}"#) }
            case .removedAccount:
                path = try await Self.send(api)
                end = {
                    let removed = try await api.call(.delete, "/api/accounts/alice", as: root)
                    #expect(removed.status == 204)
                }
            case .revokedKey:
                let key = try await api.key(.sender)
                path = try await Self.send(api, as: key)
                headers = try Self.authorization(key)
                end = { try await api.store.apply(.key(.revoke(named: "backend", app: .default))) }
            case .lesserRole:
                path = try await Self.send(api, as: .user("bob"))
                try await change(#"{"role":"operator"}"#)
                end = { try await change(#"{"role":"user"}"#) }
            }
            var (connection, text) = try await Self.watch(api, path, headers)
            #expect(try Self.states(text) == ["queued"])
            try await end()
            text = try await connection.rest()
            #expect(try Self.states(text) == [], "\(text)")
            #expect(text.hasSuffix("0\r\n\r\n"), "whole: \(text)")
            // Nobody else is sent away.
            #expect(try await api.call(.get, path, as: root).json["state"]?.text == "queued")
        }
    }

    /// Without an end the server would wait for the client, and the test for the server.
    @Test func aDrainEndsTheEvents() async throws {
        let reader = NIOLockedValueBox<Task<String, any Error>?>(nil)
        try await Harness.run(Self.live) { api async throws in
            let path = try await Self.send(api)
            let headers = try Self.authorization(.user("alice"))
            let (begun, begin) = AsyncStream<Void>.makeStream()
            let task = Task {
                defer { begin.finish() }
                var (connection, text) = try await Self.watch(api, path, headers)
                #expect(try Self.states(text) == ["queued"])
                begin.finish()
                text = try await connection.rest()
                return text
            }
            reader.withLockedValue { $0 = task }
            for await _ in begun {}
        }
        let rest = try await #require(reader.withLockedValue { $0 }).value
        #expect(try Self.states(rest) == [])
        #expect(rest.hasSuffix("0\r\n\r\n"), "whole: \(rest)")
    }
}
