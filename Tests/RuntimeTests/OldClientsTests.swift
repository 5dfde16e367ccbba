import Foundation
import NIOCore
import RawHTTP
import Testing
import Undisturbed

@testable import Runtime
@testable import WebServing

/// Health checkers, and proxies as they are without a setting: they speak HTTP/1.0, and read until the connection ends.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct OldClientsTests {
    /// Serves with so much patience that only what is closed at once ends in time.
    private static func serve(tls: Bool = false, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await ServedListener.run(ServedListener.limits(request: 600_000), tls: tls, patience: .minutes(10), body)
    }

    private static func answer(_ request: String, port: Int) async throws -> String {
        var connection = try await RawConnection.open(port: port)
        defer { connection.close() }
        try await connection.write(Array(request.utf8))
        return try await connection.rest()
    }

    @Test(arguments: [
        "GET /name HTTP/1.0\r\n\r\n", "GET /name HTTP/1.0\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /name HTTP/1.0\r\nConnection: Keep-Alive, close\r\n\r\n",
        "POST /name HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        "GET /name HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    ])
    func anAnswerEndsTheConnectionAtOnce(request: String) async throws {
        try await Self.serve { port in
            let answer = try await Self.answer(request, port: port)
            #expect(answer.hasPrefix("HTTP/1.\(request.contains("HTTP/1.0") ? 0 : 1) 200 "), "\(answer)")
            #expect(answer.lowercased().contains("connection: close"), "\(answer)")
            #expect(answer.lowercased().contains("content-length: 1\r\n"), "\(answer)")
        }
    }

    @Test func anAnswerOverTLSEndsTheConnectionToo() async throws {
        try await Self.serve(tls: true) { port in
            let stranger = try await Stranger.connect(port: port, alpn: "http/1.1")
            try await stranger.send("GET /name HTTP/1.0\r\n\r\n")
            try await stranger.end(within: .seconds(60))
            #expect(
                stranger.text.hasPrefix("HTTP/1.0 200 ") && stranger.text.hasSuffix("\r\n\r\na"),
                "\(stranger.text)"
            )
        }
    }

    @Test(arguments: ["", "Connection: keep-alive\r\n"])
    func anAnswerOfUnknownLengthHasNoChunksAndEndsWithTheConnection(header: String) async throws {
        try await Self.serve { port in
            let answer = try await Self.answer("GET /held HTTP/1.0\r\n\(header)\r\n", port: port)
            #expect(answer.hasPrefix("HTTP/1.0 200 "), "\(answer)")
            #expect(answer.hasSuffix("\r\n\r\nbegunended"), "\(answer)")
            let head = answer.lowercased()
            #expect(head.contains("connection: close") && !head.contains("transfer-encoding"), "\(answer)")
        }
    }

    @Test func aConnectionIsKeptWhereItsClientAsksAndTheLengthIsKnown() async throws {
        try await Self.serve { port in
            var connection = try await RawConnection.open(port: port)
            defer { connection.close() }
            for request in [
                "GET /name HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                "POST /name HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
                // Headers are all of it, whatever its length would be.
                "HEAD /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            ] {
                let answer = try await connection.exchange(request)
                #expect(answer.hasPrefix("HTTP/1.0 200 "), "\(answer)")
                #expect(answer.lowercased().contains("connection: keep-alive"), "\(answer)")
            }
            // Both versions on one connection.
            let new = try await connection.exchange("GET /name HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(new.hasPrefix("HTTP/1.1 200 ") && !new.lowercased().contains("connection:"), "\(new)")
        }
    }

    @Test func aClientOfHTTP10IsNeverAskedForItsBody() async throws {
        try await Self.serve { port in
            let head = "POST /name HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            let answer = try await Self.answer(head + "ab", port: port)
            #expect(answer.hasPrefix("HTTP/1.0 200 ") && answer.hasSuffix("\r\n\r\n2"), "\(answer)")
        }
    }

    /// Two readers of such a request may disagree whom it is for.
    @Test(arguments: [
        ("GET /name HTTP/1.1\r\n\r\n", 400), ("GET /name HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        ("GET /name HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
        ("GET /name HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET /name HTTP/1.1\r\nHost: a b\r\n\r\n", 400), ("GET /name HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
        ("GET /name HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        ("GET /name HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", 200),
        ("GET /name HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close\r\n\r\n", 200),
    ])
    func aRequestHasOneHost(request: String, status: Int) async throws {
        try await Self.serve { port in
            // What comes behind it is nobody's request.
            let next = status == 400 ? "GET /name HTTP/1.1\r\nHost: a\r\n\r\nNOTHING\r\n\r\n" : ""
            let answer = try await Self.answer(request + next, port: port)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            #expect(answer.ranges(of: /HTTP\/1\.1 \d/).count == 1, "\(answer)")
            if status == 400 { #expect(answer.contains("one header Host"), "\(answer)") }
        }
    }

    @Test func anAnswerBeforeTheRequestThatIsRefusedStands() async throws {
        try await Self.serve { port in
            let answer = try await Self.answer(
                "GET /name HTTP/1.1\r\nHost: a\r\n\r\nGET /name HTTP/1.1\r\n\r\n",
                port: port
            )
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("HTTP/1.1 400 "), "\(answer)")
        }
    }
}
