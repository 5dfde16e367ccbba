import Foundation
import InstallationSupport
import PushlineSimulator
import Testing
import Undisturbed

/// What one user may not learn of others, nor do to them, by what they register.
@Suite(.serialized, .installation(), .timeLimit(.minutes(3)), .undisturbed) struct ForeignMessagesTests {
    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    private static func token() -> String {
        (0..<32).map { _ in String(format: "%02x", UInt8.random(in: .min ... .max)) }.joined()
    }

    private func put(_ user: String, _ id: String, token: String, tags: [String] = []) async throws -> Int {
        let tags = tags.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"Platform":"apns","Handle":"\#(token)","Tags":[\#(tags)]}"#
        return try await self.installation.asUser(user, "PUT", "/api/register/\(id)", body: body).status
    }

    @Test(arguments: ["from:bob", "FROM:bob", "From:Bob", "username:bob"])
    func aTagOfAnotherUserIsRefused(_ tag: String) async throws {
        let installation = try self.installation
        let (carol, alice) = (Self.token(), Self.token())
        let id: String = try await installation.asUser("carol", "POST", "/api/register").decoded()
        #expect(try await self.put("carol", id, token: carol, tags: [tag]) == 403)
        // Nor by what an operator brings in for carol.
        let line = #"{"service":"apns","handle":"\#(carol)","user":"carol","tags":["\#(tag)"]}"#
        let imported = try await installation.asBackend(
            "POST",
            "/api/registrations/import",
            body: line,
            type: "application/x-ndjson"
        )
        #expect(String(decoding: imported.body, as: UTF8.self).contains(#""failed":1"#))
        // She is registered all the same, and learns nothing of what bob writes to alice.
        #expect(try await self.put("carol", id, token: carol) == 200)
        try await installation.register("alice", platform: "apns", handle: alice)
        let sent = try await installation.asUser(
            "bob",
            "POST",
            "/api/notifications?pns=apns&to_tag=alice",
            body: #""for alice alone""#
        )
        #expect(sent.status == 200)
        let job = try await installation.finished(try #require(sent.headers["pushline-job"]))
        #expect(job.totals.accepted >= 1)
        #expect(installation.simulator.received(token: alice).count == 1)
        #expect(installation.simulator.received(token: carol).isEmpty)
    }

    /// A user who registers without end has as many devices as an app allows that says nothing, and others lose none.
    @Test func oneUserCannotExceedTheRegistrationLimit() async throws {
        let installation = try self.installation
        try await installation.register("alice", platform: "apns", handle: Self.token())
        struct Page: Decodable {
            struct Item: Decodable {
                struct Ended: Decodable { let reason: String }
                let state: String
                let ended: Ended?
            }
            let items: [Item]
        }
        for _ in 0..<103 { #expect(try await self.put("bob", "\(UUID())", token: Self.token()) == 200) }
        let page: Page = try await installation.asBackend("GET", "/api/registrations?user=bob&limit=1000").decoded()
        #expect(page.items.count { $0.state == "live" } == 100)
        let reasons = page.items.compactMap(\.ended?.reason)
        #expect(reasons.count == 3)
        #expect(reasons.allSatisfy { $0.contains("more than the 100 live registrations") })
        let others: Page = try await installation.asBackend("GET", "/api/registrations?user=alice&state=live").decoded()
        #expect(!others.items.isEmpty)
    }
}
