import HTTPTypes
import HummingbirdTesting
import NIOCore
import NIOPosix
import PushModel
import Settings
import Testing
import Undisturbed

@testable import HTTPAPI

/// What is not HTTP never reaches a route and is refused like everything else; and when a connection ends.
@Suite(.undisturbed) struct ConnectionTests {
    /// Writes these bytes to the server and reads until it closes.
    private static func exchange(_ bytes: String, port: Int) async throws -> String {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(string: bytes))
            var text = ""
            for try await piece in inbound { text += String(buffer: piece) }
            return text
        }
    }

    private static let long = String(repeating: "x", count: 1001)

    @Test(
        arguments: [
            ("GET /healthz HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n", 400, "at most 1000 bytes"),
            ("GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", 400, "at most 1000 bytes"),
            (
                "GET /healthz HTTP/1.1\r\n\((0...100).map { "A\($0): 1\r\n" }.joined())\r\n", 400, "at most 100 headers"
            ),
            ("NOTHING /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400, "unknown HTTP method"),
            ("GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n", 400, "not HTTP/1.1"),
            ("GET /healthz HTTP/1.1\r\nHo st: a\r\n\r\n", 400, "header"),
            ("\u{16}\u{3}\u{1}", 400, "method"),
        ]
    )
    func malformedRequestsAreRefusedWithAProblem(request: String, status: Int, words: String) async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let answer = try await Self.exchange(request, port: try #require(api.client.port))
            let halves = answer.split(separator: "\r\n\r\n", maxSplits: 1)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(halves[0].lowercased().contains("content-type: application/problem+json"), "\(answer)")
            #expect(halves[0].lowercased().contains("connection: close"), "\(answer)")
            let problem = try JSONReader.read(Array(try #require(halves.last).utf8))
            #expect(problem["status"]?.number == Double(status))
            #expect(problem["detail"]?.text?.contains(words) == true, "\(answer)")
        }
    }

    /// The fault comes while the request before it is still being answered.
    @Test(arguments: [("/healthz", 200, "\"ok\""), ("/api/jobs", 401, "authentication required")])
    func aMalformedRequestDoesNotChangeTheAnswerBeforeIt(path: String, status: Int, words: String) async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let request = "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\nNOTHING / HTTP/1.1\r\n\r\n"
            let answer = try await Self.exchange(request, port: try #require(api.client.port))
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.contains(words))
            #expect(answer.contains("HTTP/1.1 400 ") && answer.contains("unknown HTTP method"), "\(answer)")
        }
    }

    /// Who is refused before the body is there may not go on sending it for ever.
    @Test(arguments: [
        ("Content-Length: 100000000", 413), ("Content-Length: 100", 408), ("Transfer-Encoding: chunked", 408),
    ])
    func anAnswerBeforeTheWholeRequestClosesTheConnection(header: String, status: Int) async throws {
        var options = Harness.Options()
        options.setup = .live
        options.configuration.settings.requestTime = .milliseconds(300)
        try await Harness.run(options) { api async throws in
            let caller = try #require(Harness.As.user("alice").header)
            let head = "POST /api/sends HTTP/1.1\r\nHost: a\r\nAuthorization: \(caller)\r\n\(header)\r\n\r\n"
            let answer = try await Self.exchange(head, port: try #require(api.client.port))
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.lowercased().contains("connection: close"), "\(answer)")
        }
    }

    /// `GET` has chunks, and no length that could be told.
    @Test func headOfAnExportHasNoContentLength() async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let caller = try #require(Harness.As.user("root").header)
            let head = "HEAD /api/registrations/export HTTP/1.1\r\nHost: a\r\nAuthorization: \(caller)\r\n\r\n"
            let next = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            let answer = try await Self.exchange(head + next, port: try #require(api.client.port))
            let answers = answer.split(separator: "HTTP/1.1 ")
            #expect(answers.map { $0.prefix(3) } == ["200", "200"], "\(answer)")
            let headers = try #require(answers.first).lowercased()
            #expect(!headers.contains("content-length") && headers.hasSuffix("\r\n\r\n"), "\(answer)")
            #expect(headers.contains("content-type: application/x-ndjson"), "\(answer)")
        }
    }

    @Test func anAnswerToACompleteRequestKeepsTheConnectionOpen() async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let one = "POST /api/sends HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
            let answer = try await Self.exchange(one + one + "NOTHING\r\n\r\n", port: try #require(api.client.port))
            #expect(answer.split(separator: "HTTP/1.1 ").map { $0.prefix(3) } == ["401", "401", "400"], "\(answer)")
        }
    }
}
