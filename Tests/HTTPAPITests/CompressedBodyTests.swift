import HTTPTypes
import Hummingbird
import NIOCore
import PushModel
import Settings
import Store
import Testing
import Undisturbed
import WebServing

@testable import HTTPAPI

/// Bodies with `Content-Encoding: gzip`: what comes out of them counts.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct CompressedBodyTests {
    private static let send = #"{"to":{"user":"bob"},"body":"x"}"#

    private static func zip(_ text: String) -> [UInt8] { Gzip.compress(Array(text.utf8)) }

    @Test(arguments: ["gzip", "x-gzip", "GZIP", " gzip ", "identity, gzip"])
    func aBodyIsInflated(coding: String) async throws {
        try await Harness.run { api async throws in
            let headers = ["Content-Encoding": coding]
            let answer = try await api.call(.post, "/api/sends", bytes: Self.zip(Self.send), headers: headers)
            #expect(answer.status == 202, "\(answer.text)")
        }
    }

    @Test func everyKindOfBodyMayBeCompressed() async throws {
        try await Harness.run { api async throws in
            let headers = ["Content-Encoding": "gzip"]
            func post(_ path: String, _ text: String) async throws -> Harness.Answer {
                try await api.call(.post, path, as: .user("root"), bytes: Self.zip(text), headers: headers)
            }
            // Longer than what comes out at once, so that lines are cut.
            let lines = (0..<1500).map { #"{"service":"fcm","handle":"handle-\#($0)","tags":["a","b"]}"# }
            let imported = try await post("/api/registrations/import", lines.joined(separator: "\n"))
            #expect(imported.json["created"]?.number == 1500, "\(imported.text)")
            let batch = try await post("/api/sends/batch", (0..<3).map { _ in Self.send }.joined(separator: "\n"))
            #expect(batch.text.split(separator: "\n").count { $0.contains("202") } == 3, "\(batch.text)")
            let classic = try await post("/api/notifications?pns=apns&to_tag=bob", #""x""#)
            #expect(classic.status == 200, "\(classic.text)")
            let uploaded = try await post("/api/contents", "picture")
            let content = try #require(uploaded.headers[.location])
            #expect(try await api.call(.get, content, as: .user("root")).text == "picture")
        }
    }

    @Test(arguments: ["br", "deflate", "zstd", "gzip, gzip", "gzip, br"])
    func othersAre415(coding: String) async throws {
        try await Harness.run { api async throws in
            for path in ["/api/sends", "/api/sends/batch", "/api/registrations/import", "/api/contents"] {
                let answer = try await api.call(
                    .post,
                    path,
                    as: .user("root"),
                    body: Self.send,
                    headers: ["Content-Encoding": coding]
                )
                #expect(answer.status == 415, "\(path)")
                #expect(answer.headers[.acceptEncoding] == "gzip")
            }
        }
    }

    /// A stream that ends early, bytes that are none, and a checksum that is another's.
    @Test func brokenStreamsAre400() async throws {
        try await Harness.run { api async throws in
            let whole = Self.zip(Self.send)
            var changed = whole
            changed[whole.count - 6] ^= 1
            for bytes in [
                Array(whole.dropLast()), Array(whole.prefix(12)), Array(Self.send.utf8), changed, whole + [0], [],
            ] {
                for path in ["/api/sends", "/api/registrations/import", "/api/contents"] {
                    let headers = ["Content-Encoding": "gzip"]
                    let answer = try await api.call(.post, path, as: .user("root"), bytes: bytes, headers: headers)
                    #expect(answer.status == 400, "\(path): \(answer.text)")
                    #expect(answer.json["detail"]?.text?.contains("gzip") == true, "\(answer.text)")
                }
            }
            // Lines that came whole are sent; what is not, is said.
            let lines = Self.zip([Self.send, Self.send].joined(separator: "\n"))
            let headers = ["Content-Encoding": "gzip"]
            let answer = try await api.call(.post, "/api/sends/batch", bytes: Array(lines.dropLast()), headers: headers)
            #expect(
                answer.text.contains(#""status":400,"detail":"the gzip body is incomplete"#),
                "\(answer.text)"
            )
        }
    }

    /// With or without, it is the same request (rule 17).
    @Test func theHashIsOverWhatComesOut() async throws {
        try await Harness.run { api async throws in
            let key = ["Idempotency-Key": "k"]
            let plain = try await api.call(.post, "/api/sends", body: Self.send, headers: key)
            let zipped = key.merging(["Content-Encoding": "gzip"]) { $1 }
            let bytes = Self.zip(String(Self.send.prefix(10))) + Self.zip(String(Self.send.dropFirst(10)))
            let again = try await api.call(.post, "/api/sends", bytes: bytes, headers: zipped)
            #expect(again.json["id"] == plain.json["id"] && plain.status == 202, "\(again.text)")
            let other = Self.send.replacing("bob", with: "ann")
            #expect(try await api.call(.post, "/api/sends", bytes: Self.zip(other), headers: zipped).status == 422)
        }
    }

    /// The limits are for what comes out: a thousandth of it is sent.
    @Test func whatComesOutHasTheLimits() async throws {
        var options = Harness.Options()
        options.configuration.settings.bodySize = 1000
        options.configuration.settings.contentSize = 100_000
        try await Harness.run(options) { api async throws in
            let headers = ["Content-Encoding": "gzip"]
            func status(_ path: String, _ count: Int) async throws -> Int {
                let bytes = Gzip.compress([UInt8](repeating: 0x20, count: count))
                return try await api.call(.post, path, as: .user("root"), bytes: bytes, headers: headers).status
            }
            #expect(try await status("/api/notifications?pns=apns&to_tag=bob", 1001) == 413)
            #expect(try await status("/api/contents", 100_000) == 201)
            #expect(try await status("/api/contents", 100_001) == 413)
            #expect(try await status("/api/contents", 50 << 20) == 413)
        }
    }
}
