import NIOCore
import Testing
import Undisturbed

/// A request that is to get no answer: not a byte of one.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct RequestWithoutAnswerTests {
    @Test(arguments: [nil, "http/1.1"])
    func itsConnectionEnds(alpn: String?) async throws {
        try await ServedListener.run(ServedListener.limits(request: 100_000), tls: alpn != nil) { port in
            let stranger = try await Stranger.connect(port: port, alpn: alpn)
            try await stranger.send("GET /name HTTP/1.1\r\nHost: a\r\n\r\nGET /lost HTTP/1.1\r\nHost: a\r\n\r\n")
            try await stranger.end(within: .seconds(60))
            // That of the request before it alone.
            #expect(stranger.text.split(separator: "HTTP/1.1 ").count == 1, "\(stranger.text)")
            #expect(stranger.text.hasSuffix("\r\n\r\na"), "\(stranger.text)")
        }
    }

    @Test func itsStreamIsReset() async throws {
        try await ServedListener.run(ServedListener.limits(request: 1000), tls: true) { port in
            let stranger = try await Stranger.connect(port: port, alpn: "h2")
            let requests = HTTP2Bytes.get("/lost", stream: 1) + HTTP2Bytes.get("/name", stream: 3)
            try await stranger.send(HTTP2Bytes.preface() + requests)
            // Then the connection on which nothing is asked.
            try await stranger.end(within: .seconds(60))
            let kinds = HTTP2Bytes.kinds(stranger.bytes)
            #expect(kinds.count { $0 == HTTP2Bytes.reset } == 1, "\(kinds)")
            // The other stream has its answer.
            #expect(kinds.count { $0 == HTTP2Bytes.headers } == 1 && kinds.contains(HTTP2Bytes.data), "\(kinds)")
        }
    }
}
