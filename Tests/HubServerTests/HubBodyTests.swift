import HTTPTypes
import HubWire
import HummingbirdTesting
import PushModel
import RawHTTP
import Testing
import Undisturbed
import WebServing

/// Bodies on the hub's wire, as clients send them: compressed, or after leave to.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct HubBodyTests {
    private static let headers = [
        "ServiceBusNotification-Format": "apple", "Content-Type": "application/json;charset=utf-8",
    ]
    private static let body = #"{"aps":{"alert":"x"}}"#

    @Test func aBodyIsInflated() async throws {
        try await HubHarness.run { hub async throws in
            for coding in ["gzip", "x-gzip"] {
                let headers = Self.headers.merging(["Content-Encoding": coding]) { $1 }
                let bytes = Gzip.compress(Array(Self.body.utf8))
                let answer = try await hub.call(.post, "/default/messages", bytes: bytes, headers: headers)
                #expect(answer.status == 201, "\(answer.text)")
                let broken = try await hub.call(
                    .post,
                    "/default/messages",
                    bytes: Array(bytes.dropLast()),
                    headers: headers
                )
                #expect(
                    try broken.status == 400 && broken.element("Detail")?.contains("gzip") == true,
                    "\(broken.text)"
                )
                let bomb = Gzip.compress([UInt8](repeating: 0x20, count: 8 << 20))
                #expect(try await hub.call(.post, "/default/messages", bytes: bomb, headers: headers).status == 413)
            }
        }
    }

    @Test func anotherCodingIs415AndAnotherExpectation417() async throws {
        try await HubHarness.run { hub async throws in
            var headers = Self.headers.merging(["Content-Encoding": "br"]) { $1 }
            let answer = try await hub.call(.post, "/default/messages", body: Self.body, headers: headers)
            #expect(answer.status == 415 && answer.header("Accept-Encoding") == "gzip", "\(answer.text)")
            headers = Self.headers.merging(["Expect": "more"]) { $1 }
            let expected = try await hub.call(.post, "/default/messages", body: Self.body, headers: headers)
            #expect(try expected.status == 417 && expected.element("Code") == "417", "\(expected.text)")
        }
    }

    @Test func theBodyIsAskedForUnlessItIsRefused() async throws {
        try await HubHarness.run { hub async throws in
            let port = try #require(hub.client.port)
            let token = try hub.token(of: "Full", for: "/default/messages")
            let headers = Self.headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            for (authorization, length, status) in [
                (token, Self.body.utf8.count, 100), (token, 1 << 30, 413), (token, WireNames.maximumBody + 1, 413),
                ("nothing", Self.body.utf8.count, 401),
            ] {
                var connection = try await RawConnection.open(port: port)
                defer { connection.close() }
                let head =
                    "POST /default/messages HTTP/1.1\r\nHost: localhost:\(port)\r\nAuthorization: \(authorization)\r\n"
                    + "\(headers)Expect: 100-continue\r\nContent-Length: \(length)\r\n\r\n"
                try await connection.write(Array(head.utf8))
                let first = try await connection.text(to: "\r\n\r\n")
                #expect(first.hasPrefix("HTTP/1.1 \(status) "), "\(first)")
                guard status == 100 else { continue }
                let answer = try await connection.exchange(Self.body)
                #expect(answer.hasPrefix("HTTP/1.1 201 "), "\(answer)")
            }
        }
    }

    /// Whatever the API takes: what is beyond the wire's limit is not read to its end.
    @Test func aBodyBeyondTheLimitIsRefusedWhileItComes() async throws {
        try await HubHarness.run { hub async throws in
            let port = try #require(hub.client.port)
            let token = try hub.token(of: "Full", for: "/default/messages")
            for coding in ["gzip", "identity"] {
                let whole = [UInt8](repeating: 0x20, count: WireNames.maximumBody + 1)
                let bytes = coding == "gzip" ? Gzip.compress(whole + whole) : whole
                var connection = try await RawConnection.open(port: port)
                defer { connection.close() }
                let head =
                    "POST /default/messages HTTP/1.1\r\nHost: localhost:\(port)\r\nAuthorization: \(token)\r\n"
                    + "ServiceBusNotification-Format: apple\r\nContent-Encoding: \(coding)\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n\(String(bytes.count + 1, radix: 16))\r\n"
                // A byte of it never comes.
                try await connection.write(Array(head.utf8) + bytes)
                let first = try await connection.text(to: "\r\n\r\n")
                #expect(first.hasPrefix("HTTP/1.1 413 "), "\(coding): \(first)")
            }
        }
    }

    @Test func aClientOfHTTP10IsAnsweredAndClosed() async throws {
        try await HubHarness.run { hub async throws in
            var connection = try await RawConnection.open(port: try #require(hub.client.port))
            defer { connection.close() }
            let head =
                "POST /default/messages HTTP/1.0\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            try await connection.write(Array((head + "{}").utf8))
            let answer = try await connection.rest()
            #expect(answer.hasPrefix("HTTP/1.0 401 ") && answer.hasSuffix("</Error>"), "\(answer)")
        }
    }
}
