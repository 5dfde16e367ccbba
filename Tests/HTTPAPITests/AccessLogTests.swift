import HTTPTypes
import HummingbirdTesting
import LogRecorder
import Logging
import PushModel
import RawHTTP
import Settings
import Testing
import Undisturbed

@testable import HTTPAPI
@testable import WebServing

/// A request is a line of the log, and all lines of it have its id.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct AccessLogTests {
    private let log = LogRecorder()

    private func options(_ level: Logger.Level, isOn: Bool = true) -> Harness.Options {
        var options = Harness.Options()
        options.setup = .live
        options.hub = .onlyRegisters
        options.configuration.serving.accessLog = isOn
        options.logger = self.log.logger(level)
        return options
    }

    private func lines(of answer: Harness.Answer) -> [LogRecorder.Line] {
        self.log.lines.filter { $0.fields["request.id"] == answer.headers[.requestID] }
    }

    private static let send = #"{"to":{"user":"Marker"},"body":"x"}"#

    @Test func aRequestIsALineWhateverTheLevel() async throws {
        try await Harness.run(self.options(.critical)) { api async throws in
            let key = try await api.key(.operator)
            let answer = try await api.call(.post, "/api/sends", as: key, body: Self.send)
            let line = try #require(self.lines(of: answer).first)
            #expect(line.level == .info && line.message == "Request")
            var fields = line.fields
            let removed = fields.removeValue(forKey: "http.server.request.duration")
            let duration = try #require(removed)
            #expect(duration.wholeMatch(of: /[0-9]+\.[0-9]{6}/) != nil)
            #expect(
                fields == [
                    "app": "default", "caller": "key:backend", "http.request.method": "POST",
                    "http.request.body.size": "\(Self.send.utf8.count)", "http.route": "/api/sends",
                    "http.response.body.size": "\(answer.bytes.count)",
                    "http.response.status_code": "\(answer.status)", "job.id": try #require(answer.headers[.job]),
                    "request.id": try #require(answer.headers[.requestID]),
                ]
            )
        }
    }

    @Test func aLineHasNoPathNoQueryAndNoUser() async throws {
        try await Harness.run(self.options(.trace)) { api async throws in
            let key = try await api.key(.operator)
            for (method, path, caller, route) in [
                (.delete, "/api/users/Marker", key, "/api/users/{user}"),
                (.get, "/api/jobs?user=Marker", .user("root"), "/api/jobs"),
                (.get, "/api/Marker", .nobody, "unknown"), (.get, "/api/jobs", .basic("Marker", "x"), "/api/jobs"),
            ] as [(HTTPRequest.Method, String, Harness.As, String)] {
                let line = try #require(self.lines(of: try await api.call(method, path, as: caller)).last)
                #expect(line.fields["http.route"] == route)
            }
            #expect(!self.log.lines.contains { "\($0)".contains("Marker") })
            #expect(self.log.lines.contains { $0.fields["caller"] == "account:operator" })
        }
    }

    @Test func withoutTheSettingItIsALineForDebugging() async throws {
        try await Harness.run(self.options(.info, isOn: false)) { api async throws in
            #expect(try await api.call(.get, "/api/jobs").status == 200)
            // The server of the test has a line of its own.
            #expect(!self.log.lines.contains { $0.message == "Request" })
        }
        try await Harness.run(self.options(.debug, isOn: false)) { api async throws in
            let answer = try await api.call(.get, "/api/jobs")
            #expect(self.lines(of: answer).map(\.level) == [.debug])
        }
    }

    @Test func anAnswerWithoutALengthIsALineWhenItEnds() async throws {
        try await Harness.run(self.options(.critical)) { api async throws in
            let sent = try await api.call(.post, "/api/sends", body: Self.send)
            let job = try #require(sent.json["href"]?.text)
            var connection = try await RawConnection.open(port: try #require(api.client.port))
            defer { connection.close() }
            let login = try #require(Harness.As.user("alice").header)
            let head = "Host: a\r\nConnection: close\r\nAuthorization: \(login)"
            try await connection.write(Array("GET \(job)/events HTTP/1.1\r\n\(head)\r\n\r\n".utf8))
            _ = try await connection.text(to: "}\n\n")
            let isEvents: @Sendable (LogRecorder.Line) -> Bool = { line in
                line.fields["http.route"]?.hasSuffix("/events") == true
            }
            #expect(!self.log.lines.contains(where: isEvents))
            #expect(try await api.call(.delete, job).status == 200)
            let rest = try await connection.rest()
            while !self.log.lines.contains(where: isEvents) { try await Task.sleep(for: .milliseconds(5)) }
            let line = try #require(self.log.lines.first(where: isEvents))
            #expect(try #require(line.fields["http.response.body.size"].flatMap { Int($0) }) > rest.utf8.count / 2)
            #expect(line.fields["job.id"] == sent.headers[.job] && line.fields["request.id"]?.isEmpty == false)
        }
    }

    @Test func aFailureHasTheIDToo() async throws {
        var options = self.options(.debug)
        options.backlog = 1
        try await Harness.run(options) { api async throws in
            #expect(try await api.call(.post, "/api/sends", body: Self.send).status == 202)
            let refused = try await api.call(.post, "/api/sends", body: Self.send)
            #expect(refused.status == 503)
            #expect(self.lines(of: refused).map(\.message) == ["The store failed a request", "Request"])
        }
    }

    @Test func anIDOfATrustedProxyIsTaken() async throws {
        var trusting = self.options(.critical)
        trusting.configuration.settings.trustedProxies = try TrustedProxies("127.0.0.1")
        let (good, long) = ("4bf92f35-77b3.4da_6A", String(repeating: "a", count: 65))
        try await Harness.run(trusting) { api async throws in
            let answer = try await api.call(.get, "/api/jobs", headers: ["X-Request-Id": good])
            #expect(answer.headers[.requestID] == good && self.lines(of: answer).count == 1)
            for wrong in [long, "a b", "a\"b", "ä", "a=b", "a,b"] {
                let own = try await api.call(.get, "/api/jobs", headers: ["X-Request-Id": wrong])
                #expect(own.headers[.requestID].flatMap { JobID($0) } != nil, "\(wrong)")
            }
        }
        try await Harness.run(self.options(.critical)) { api async throws in
            let answer = try await api.call(.get, "/api/jobs", headers: ["X-Request-Id": good])
            #expect(answer.headers[.requestID].flatMap { JobID($0) } != nil)
        }
    }
}
