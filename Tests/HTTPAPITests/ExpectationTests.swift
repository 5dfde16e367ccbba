import HTTPTypes
import HummingbirdTesting
import PushModel
import RawHTTP
import Testing
import Undisturbed

@testable import HTTPAPI

/// `Expect: 100-continue`: a client that waits to be asked for its body is asked, or answered.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct ExpectationTests {
    private static func run(_ body: @Sendable @escaping (Harness, RawConnection) async throws -> Void) async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let connection = try await RawConnection.open(port: try #require(api.client.port))
            defer { connection.close() }
            try await body(api, connection)
        }
    }

    private static func head(
        _ path: String,
        as caller: Harness.As = .user("root"),
        length: Int,
        expect: String = "100-continue",
        version: String = "1.1"
    ) -> [UInt8] {
        let authorization = caller.header.map { "Authorization: \($0)\r\n" } ?? ""
        let text =
            "POST \(path) HTTP/\(version)\r\nHost: a\r\n\(authorization)Expect: \(expect)\r\nContent-Length: \(length)\r\n\r\n"
        return Array(text.utf8)
    }

    private static let send = #"{"to":{"user":"bob"},"body":"x"}"#

    @Test(arguments: [
        ("/api/sends", send, "202"), ("/api/sends/batch", send, "200"), ("/api/contents", "picture", "201"),
        ("/api/registrations/import", #"{"service":"fcm","handle":"h"}"#, "200"),
        ("/api/notifications?pns=apns&to_tag=bob", #""x""#, "200"),
    ])
    func theBodyIsAskedForOnce(path: String, body: String, status: String) async throws {
        try await Self.run { _, connection async throws in
            var connection = connection
            for _ in 0..<2 {
                try await connection.write(Self.head(path, length: body.utf8.count))
                let asked = try await connection.text(to: "\r\n\r\n")
                #expect(asked == "HTTP/1.1 100 Continue\r\n\r\n")
                let answer = try await connection.exchange(body)
                #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            }
        }
    }

    @Test func whoDoesNotWaitIsNotAsked() async throws {
        try await Self.run { _, connection async throws in
            var connection = connection
            let head = Self.head("/api/sends", length: Self.send.utf8.count, expect: "100-Continue")
            let answer = try await connection.exchange(String(decoding: head, as: UTF8.self) + Self.send)
            #expect(answer.hasPrefix("HTTP/1.1 202 ") || answer.hasPrefix("HTTP/1.1 100 "), "\(answer)")
        }
    }

    @Test(arguments: [
        ("/api/sends", Harness.As.nobody, 10, "100-continue", 401),
        ("/api/sends", .user("root"), 1 << 30, "100-continue", 413),
        ("/api/nothing", .user("root"), 10, "100-continue", 404), ("/api/sends", .user("root"), 10, "200-ok", 417),
        ("/api/registrations/import", .user("alice"), 10, "100-continue", 403),
        ("/api/sends", .user("root"), 10, "100-continue, more", 417), ("/healthz", .nobody, 0, "more", 417),
    ])
    func aRefusalComesInsteadOfTheQuestion(
        path: String,
        caller: Harness.As,
        length: Int,
        expect: String,
        status: Int
    ) async throws {
        try await Self.run { _, connection async throws in
            var connection = connection
            try await connection.write(Self.head(path, as: caller, length: length, expect: expect))
            let answer = try await connection.text(to: "}")
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
            // The body that did not come cannot be told from a request.
            if length > 0 { #expect(answer.lowercased().contains("connection: close"), "\(answer)") }
        }
    }

    @Test func aClientOfHTTP10IsNotAsked() async throws {
        try await Self.run { _, connection async throws in
            var connection = connection
            let head = Self.head("/api/sends", length: Self.send.utf8.count, version: "1.0")
            try await connection.write(head + Array(Self.send.utf8))
            let answer = try await connection.rest()
            #expect(answer.hasPrefix("HTTP/1.0 202 "), "\(answer)")
        }
    }

    @Test func anExportAndEventsToAClientOfHTTP10End() async throws {
        try await Self.run { api, first async throws in
            _ = try await api.register()
            let sent = try await api.call(.post, "/api/sends", body: Self.send)
            let job = try #require(sent.json["href"]?.text)
            for (path, caller, mark) in [
                ("/api/registrations/export", Harness.As.user("root"), #""service":"apns""#),
                ("\(job)/events", .user("alice"), #""state":"completed""#), ("/healthz", .nobody, "ok"),
            ] {
                var connection = try await RawConnection.open(port: try #require(api.client.port))
                defer { connection.close() }
                let authorization = caller.header.map { "Authorization: \($0)\r\n" } ?? ""
                try await connection.write(Array("GET \(path) HTTP/1.0\r\n\(authorization)\r\n".utf8))
                let answer = try await connection.rest()
                #expect(answer.hasPrefix("HTTP/1.0 200 ") && answer.contains(mark), "\(answer)")
                #expect(!answer.lowercased().contains("chunked"), "\(answer)")
            }
        }
    }
}
