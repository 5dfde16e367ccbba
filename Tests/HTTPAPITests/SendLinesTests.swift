import Broker
import HTTPTypes
import NIOCore
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// `POST /api/sends/batch`: each line is accepted or refused on its own.
@Suite(.undisturbed) struct SendLinesTests {
    private static func line(_ user: String, _ body: String = "b") -> String {
        #"{"to":{"user":"\#(user)"},"body":"\#(body)"}"#
    }

    /// The answer's lines, by their number.
    private static func lines(_ answer: Harness.Answer) throws -> [Int: JSONValue] {
        var found: [Int: JSONValue] = [:]
        var last = 0
        for text in answer.text.split(separator: "\n") {
            let value = try JSONReader.read(Array(text.utf8))
            let number = try #require(value["line"]?.number.map { Int($0) })
            #expect(number > last, "line \(number) is out of order")
            last = number
            found[number] = value
        }
        return found
    }

    @Test func everyLineHasItsOwnAnswer() async throws {
        try await Harness.run { api async throws in
            let body = [
                Self.line("bob"), "", #"{"to":{"user":"bob"},"body":7}"#, "  ", "{", #"{"to":{"tag":"t"},"body":"x"}"#,
                #"{"to":{"tags":["a","b"]},"body":"x","priority":"high"}"#, "[1]", Self.line("ann") + "\r",
            ].joined(separator: "\n")
            let answer = try await api.call(.post, "/api/sends/batch", as: .user("desk"), body: body)
            #expect(answer.status == 200)
            #expect(answer.headers[.contentType] == "application/x-ndjson")
            let lines = try Self.lines(answer)
            let statuses = lines.mapValues { $0["status"]?.number ?? 0 }
            #expect(statuses == [1: 202, 3: 400, 5: 400, 6: 202, 7: 202, 8: 400, 9: 202])
            #expect(lines[3]?["member"]?.text == "body")
            #expect(lines[5]?["detail"]?.text?.contains("column 2") == true)
            for number in [1, 6, 7, 9] {
                let id = try #require(lines[number]?["id"]?.text)
                #expect(try await api.call(.get, "/api/jobs/\(id)", as: .user("desk")).json["kind"]?.text == "send")
            }
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.count == 4)
        }
    }

    @Test func aUserMaySendToUsersOnly() async throws {
        try await Harness.run { api async throws in
            let body = Self.line("bob") + "\n" + #"{"to":{"tag":"t"},"body":"x"}"#
            let lines = try Self.lines(try await api.call(.post, "/api/sends/batch", body: body))
            #expect(lines[1]?["status"]?.number == 202)
            #expect(lines[2]?["status"]?.number == 403)
        }
    }

    @Test func anInterruptedUploadIsRepeatedWithItsKey() async throws {
        try await Harness.run { api async throws in
            let all = (0..<1200).map { Self.line("user\($0)") }
            let key = ["Idempotency-Key": "campaign-7"]
            let first = try await api.call(
                .post,
                "/api/sends/batch",
                body: all.prefix(700).joined(separator: "\n"),
                headers: key
            )
            let again = try await api.call(
                .post,
                "/api/sends/batch",
                body: all.joined(separator: "\n"),
                headers: key
            )
            let (before, after) = (try Self.lines(first), try Self.lines(again))
            #expect(before.count == 700)
            #expect(after.count == 1200)
            for number in 1...700 {
                #expect(after[number]?["id"] == before[number]?["id"])
                #expect(after[number]?["repeated"] == .bool(true))
            }
            #expect(Set(after.values.compactMap { $0["id"]?.text }).count == 1200)
            let changed = try await api.call(.post, "/api/sends/batch", body: Self.line("eve"), headers: key)
            #expect(try Self.lines(changed)[1]?["status"]?.number == 422)
            #expect(try Self.lines(changed)[1]?["member"]?.text == "Idempotency-Key")
        }
    }

    @Test func linesBeyondTheBacklogMayBeRepeated() async throws {
        var options = Harness.Options()
        options.backlog = 3
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let body = (0..<5).map { Self.line("user\($0)") }.joined(separator: "\n")
            let lines = try Self.lines(try await api.call(.post, "/api/sends/batch", body: body))
            #expect((1...5).map { lines[$0]?["status"]?.number } == [202, 202, 202, 503, 503])
            #expect(lines[4]?["detail"]?.text?.contains("Idempotency-Key") == true)
        }
    }

    @Test func limitsOfLinesAndSizeAreEnforced() async throws {
        try await Harness.run { api async throws in
            let long = Self.line("bob", String(repeating: "x", count: APIConfiguration().settings.sendSize))
            let body = [long, Self.line("bob"), long].joined(separator: "\n")
            let lines = try Self.lines(try await api.call(.post, "/api/sends/batch", body: body))
            #expect((1...3).map { lines[$0]?["status"]?.number } == [413, 202, 413])
            let many = Array(repeating: "{}", count: SendLinesRoute.maximumLines + 5).joined(separator: "\n")
            let answer = try await api.call(.post, "/api/sends/batch", body: many)
            let answers = try Self.lines(answer)
            #expect(answers.count == SendLinesRoute.maximumLines + 1)
            #expect(answers[SendLinesRoute.maximumLines + 1]?["status"]?.number == 413)
            #expect(answer.headers[.connection] == "close")
        }
    }

    @Test(
        arguments: [
            ("", [:], 400), ("\n\n", [:], 400), ("{}", ["Content-Type": "text/csv"], 415),
            ("{}", ["Idempotency-Key": "a b"], 400),
            ("{}", ["Content-Type": "application/x-ndjson; charset=utf-8"], 200),
        ] as [(String, [String: String], Int)]
    )
    func aRequestThatIsNoUploadIsRefused(body: String, headers: [String: String], status: Int) async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.post, "/api/sends/batch", body: body, headers: headers)
            #expect(answer.status == status, "\(answer.text)")
            #expect(try await api.call(.post, "/api/sends/batch", as: .nobody, body: body).status == 401)
            #expect(try await api.call(.post, "/api/sends/batch?x=1", body: "{}").status == 400)
        }
    }

    @Test func linesOfAnUploadShareMessages() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let body = (0..<1100).map { Self.line("user\($0)") }.joined(separator: "\n")
            _ = try await api.call(.post, "/api/sends/batch", body: body)
            for _ in 0..<500 where api.broker.ready(in: QueueName.work(.send, .normal)) < 3 {
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(api.broker.ready(in: QueueName.work(.send, .normal)) == 3)
        }
    }
}
