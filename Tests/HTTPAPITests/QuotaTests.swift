import HTTPTypes
import HummingbirdTesting
import PushModel
import Testing
import Undisturbed

@testable import HTTPAPI

/// How much content is kept, and what is said to whoever brings more.
@Suite(.undisturbed) struct QuotaTests {
    private static let body = String(repeating: "x", count: 9 << 10)

    private static func upload(_ api: Harness, as caller: Harness.As) async throws -> Harness.Answer {
        try await api.call(.post, "/api/contents", as: caller, body: Self.body)
    }

    @Test func uploadsBeyondAQuotaAre507() async throws {
        var options = Harness.Options()
        // Each upload counts as 10 KiB.
        options.spec.contents = AppSpec.Contents {
            $0.accountBytes = 25 << 10
            $0.appBytes = 50 << 10
        }
        try await Harness.run(options) { api async throws in
            for _ in 0..<2 { #expect(try await Self.upload(api, as: .user("alice")).status == 201) }
            let own = try await Self.upload(api, as: .user("alice"))
            #expect(own.status == 507)
            #expect(own.headers[.contentType] == "application/problem+json")
            #expect(own.json["type"]?.text == "urn:pushline:problem:quota-reached")
            #expect(own.json["detail"]?.text?.contains("contents.account_bytes") == true)
            // A key has a quota of its own.
            let key = try await api.key(.sender)
            for _ in 0..<2 { #expect(try await Self.upload(api, as: key).status == 201) }
            #expect(try await Self.upload(api, as: key).json["type"]?.text == "urn:pushline:problem:quota-reached")
            #expect(try await Self.upload(api, as: .user("bob")).status == 201)
            let all = try await Self.upload(api, as: .user("bob"))
            #expect(all.status == 507)
            #expect(all.json["type"]?.text == "urn:pushline:problem:quota-reached")
            // Nothing else is refused.
            #expect(try await api.call(.post, "/api/sends", body: #"{"to":{"user":"bob"},"body":"x"}"#).status == 202)
        }
    }

    @Test func aNearlyFullDiskRefusesUploadsOnly() async throws {
        var options = Harness.Options()
        options.reserve = .max
        try await Harness.run(options) { api async throws in
            let answer = try await Self.upload(api, as: .user("alice"))
            #expect(answer.status == 507)
            #expect(answer.json["type"]?.text == "urn:pushline:problem:storage-reserve")
            #expect(try await api.call(.post, "/api/sends", body: #"{"to":{"user":"bob"},"body":"x"}"#).status == 202)
            _ = try await api.register()
            #expect(try await api.call(.post, "/api/notifications").status == 200)
        }
    }

    /// Content beyond the usual limit of bodies takes of the memory for large ones until it is written, and comes whole.
    @Test func largeContentIsStoredCompletely() async throws {
        var options = Harness.Options()
        options.setup = .live
        try await Harness.run(options) { api async throws in
            let bytes = (0..<200_001).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let upload = try await api.call(.post, "/api/contents", bytes: bytes)
            let id = try #require(upload.json["id"]?.text)
            #expect(try await api.call(.get, "/api/contents/\(id)").bytes == bytes)
            let head = try await api.call(.head, "/api/contents/\(id)")
            #expect(head.headers[.contentLength] == "200001" && head.bytes.isEmpty)
        }
    }
}
