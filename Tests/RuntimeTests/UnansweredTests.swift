import NIOCore
import RawHTTP
import Testing
import Undisturbed

@testable import Runtime
@testable import WebServing

/// Every request that the server has taken is answered, and every one that it has not is known not to be.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct UnansweredTests {
    private static let request = "GET /name HTTP/1.1\r\nHost: a\r\n\r\n"

    /// The parser takes what follows for another protocol: the answer has to say that nothing is taken there.
    @Test(arguments: [
        ("GET /name", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n", "", "200"),
        ("GET /name", "Connection: upgrade\r\nUpgrade: websocket\r\n", "", "200"),
        ("POST /name", "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n", "abc", "200"),
        ("CONNECT a:80", "", "", "404"),
    ])
    func anUpgradeRequestIsTheLastOfItsConnection(line: String, headers: String, body: String, status: String)
        async throws
    {
        try await ServedListener.run(ServedListener.limits(request: 60_000)) { port in
            let stranger = try await Stranger.connect(port: port)
            try await stranger.send("\(line) HTTP/1.1\r\nHost: a\r\n\(headers)\r\n\(body)")
            try await stranger.end(within: .seconds(10))
            #expect(stranger.text.hasPrefix("HTTP/1.1 \(status) "), "\(stranger.text)")
            #expect(stranger.text.lowercased().contains("connection: close"), "\(stranger.text)")
        }
    }

    /// What is sent to it behind the request is not kept in memory: the system stops taking it.
    @Test func bytesAfterAnUpgradeRequestAreNotRead() async throws {
        try await ServedListener.run(ServedListener.limits(request: 60_000)) { port in
            let stranger = try await Stranger.connect(port: port)
            try await stranger.send("GET /slow HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
            let piece = ByteBuffer(repeating: 120, count: 64 << 20)
            let flood = stranger.channel.eventLoop.makePromise(of: Void.self)
            stranger.channel.writeAndFlush(piece, promise: flood)
            // It is closed, and the flood with it, long before all was taken.
            try await stranger.end(within: .seconds(10))
            await #expect(throws: (any Error).self) { try await flood.futureResult.get() }
        }
    }

    @Test(arguments: ["close", "Close", "keep-alive, close"])
    func connectionCloseIsConfirmed(value: String) async throws {
        try await ServedListener.run(ServedListener.limits(request: 60_000)) { port in
            let stranger = try await Stranger.connect(port: port)
            try await stranger.send("GET /name HTTP/1.1\r\nHost: a\r\nConnection: \(value)\r\n\r\n")
            try await stranger.end(within: .seconds(10))
            #expect(stranger.text.lowercased().contains("connection: close"), "\(stranger.text)")
            #expect(stranger.text.hasSuffix("\r\n\r\na"), "\(stranger.text)")
        }
    }

    /// A reset while the client still sends would take the answer from it.
    @Test func anEarlyAnswerReachesAClientThatIsStillSending() async throws {
        try await ServedListener.run(ServedListener.limits(request: 60_000)) { port in
            let stranger = try await Stranger.connect(port: port)
            try await stranger.send("POST /nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
            // Longer than the server waits for one that is silent.
            for _ in 0..<40 {
                try await stranger.send("12345")
                try await Task.sleep(for: .milliseconds(40))
            }
            #expect(stranger.channel.isActive)
            #expect(stranger.text.hasPrefix("HTTP/1.1 404 "), "\(stranger.text)")
            #expect(stranger.text.lowercased().contains("connection: close"), "\(stranger.text)")
            try await stranger.end(within: .seconds(10))
        }
    }

    /// The headers that `GET` has, and not a byte behind them, or the next answer could not be read.
    @Test func headOfAChunkedAnswerHasHeadersOnly() async throws {
        try await ServedListener.run(ServedListener.limits(request: 60_000)) { port in
            let stranger = try await Stranger.connect(port: port)
            try await stranger.send("HEAD /chunks HTTP/1.1\r\nHost: a\r\n\r\nGET /name HTTP/1.1\r\nHost: a\r\n\r\n")
            try await stranger.send("GET /name HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            try await stranger.end(within: .seconds(10))
            let answers = stranger.text.split(separator: "HTTP/1.1 ")
            #expect(answers.map { $0.prefix(3) } == ["200", "200", "200"], "\(stranger.text)")
            #expect(answers.first?.hasSuffix("\r\n\r\n") == true, "\(stranger.text)")
            #expect(answers.first?.lowercased().contains("content-length") == false, "\(stranger.text)")
        }
    }
}
