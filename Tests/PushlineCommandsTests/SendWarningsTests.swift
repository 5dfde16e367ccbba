import ArgumentParser
import Foundation
import Testing
import Undisturbed

@testable import PushlineClient
@testable import PushlineCommands

/// `pushline send` prints warnings of members that no service takes.
@Suite(.undisturbed) struct SendWarningsTests {
    private static let warnings = #""warnings":[{"member":"thread","reason":"is dropped"}]"#

    /// Answers as a server that accepts every send, and warns of it.
    private struct Server: HTTPTransport {
        func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
            let isBatch = request.url.path.hasSuffix("/batch")
            return HTTPAnswer(
                status: isBatch ? 200 : 202,
                headers: [:],
                body: Data((isBatch ? Self.lines : Self.job(request)).utf8)
            )
        }

        private static let lines = """
            {"line":1,"status":202,"id":"a","warnings":[{"member":"thread","reason":"is dropped"}]}
            {"line":2,"status":400,"member":"body","detail":"is required"}
            {"line":3,"status":202,"id":"b","warnings":[{"member":"thread","reason":"is dropped"}]}
            {"line":4,"status":202,"id":"c"}
            """

        private static func job(_ request: HTTPRequest) -> String {
            let isSend = request.method == "POST"
            return """
                {"id":"0190-x","app":"default","kind":"send","priority":"normal","accepted":"2026-11-21T08:30:00.123Z",
                "expires":"2026-11-22T08:30:00.123Z","state":"completed","isFinal":true,"to":["a"]\(isSend ? ",\(SendWarningsTests.warnings)" : "")}
                """
        }
    }

    private static func client() throws -> PushlineClient {
        let url = try #require(URL(string: "http://host:1/"))
        return PushlineClient(
            url: url,
            app: nil,
            credentials: .key("plk_x"),
            deadline: .seconds(10),
            transport: Server()
        )
    }

    /// The text that is written to standard error meanwhile.
    private static func notes(_ body: () async throws -> Void) async throws -> [String] {
        let notes = HostCommandsTests.Lines()
        try await Console.$noteCapture.withValue({ notes.add($0) }) {
            try await Console.$capture.withValue({ _ in }) { try await body() }
        }
        return notes.all
    }

    @Test func aSendThatIsWatchedTellsThem() async throws {
        let client = try Self.client()
        let notes = try await Self.notes {
            let command = try SendCommand.parse(["--user", "ann", "hello", "--thread", "t", "--watch"])
            try await command.send(client, to: command.audience())
        }
        #expect(notes == ["warning: thread is dropped"])
    }

    @Test func linesTellEachOnce() async throws {
        let client = try Self.client()
        let notes = try await Self.notes {
            let options = try ServerOptions.parse(["--url", "http://host:1", "--key", "plk_x"])
            var input = [Data("{}\n{}\n{}\n{}\n".utf8), Data()]
            let summary = try await SendLines(client: client, options: options, key: "k").send { input.removeFirst() }
            #expect(summary == .init(lines: 4, accepted: 3, refused: 1, warned: 2, key: "k"))
        }
        #expect(notes == ["line 1: warning: thread is dropped", "line 2: body: is required"])
    }
}
