import HTTPTypes
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// Rich push: what is kept of it, who sees it, and its secure form.
@Suite(.undisturbed) struct RichPushTests {
    private static func rich(_ answer: Harness.Answer, _ api: Harness) async throws -> Content.RichPush {
        guard case .rich(let rich) = try await self.send(answer, api).content else { throw Unexpected() }
        return rich
    }

    private static func send(_ answer: Harness.Answer, _ api: Harness) async throws -> SendRequest {
        let id = try #require(answer.headers[.job].flatMap(JobID.init))
        guard case .send(let send) = try await api.store.job(id, app: .default)?.work else { throw Unexpected() }
        return send
    }

    private struct Unexpected: Error {}

    private static func kept(_ api: Harness) async throws -> [RichNotification] {
        try await api.store.richNotifications(RichNotificationQuery(app: .default)).items
    }

    private static func options(_ change: (inout AppSpec.RichDefault) -> Void) -> Harness.Options {
        var options = Harness.Options()
        change(&options.spec.richDefault)
        return options
    }

    @Test func aRichPushGoesToTheServicesInItsBody() async throws {
        try await Harness.run { api async throws in
            let body = #"{"Platforms":["GCM","wns","fcm","web"]}"#
            let answer = try await api.call(.post, "/api/notifications", body: body)
            #expect(answer.status == 200)
            #expect(try await Self.send(answer, api).platforms == [.fcm, .wns, .web])
        }
    }

    @Test(arguments: [[:], ["Prefer": "respond-async, wait=0"]])
    func aRepeatedRequestStoresNoSecondNotification(headers: [String: String]) async throws {
        try await Harness.run { api async throws in
            let headers = headers.merging(["Idempotency-Key": "k1"]) { $1 }
            for _ in 0..<3 {
                let answer = try await api.call(.post, "/api/notifications", headers: headers)
                #expect([200, 202].contains(answer.status))
            }
            let other = try await api.call(.post, "/api/notifications", body: #""other""#, headers: headers)
            #expect(other.status == 422)
            let kept = try await Self.kept(api)
            #expect(kept.count == 1)
            #expect(try await api.store.jobs(JobQuery(app: .default)).items.count == 1)
        }
    }

    @Test func aPushRefusedForTheBacklogStoresNothing() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        options.backlog = 1
        options.configuration.settings.classicWait = .milliseconds(50)
        try await Harness.run(options) { api async throws in
            #expect(try await api.call(.post, "/api/notifications").status == 200)
            #expect(try await api.call(.post, "/api/notifications").status == 503)
            #expect(try await Self.kept(api).count == 1)
        }
    }

    @Test func readNotificationsMakeRoomInAFullQuota() async throws {
        try await Harness.run(Self.options { $0.perAccount = 2 }) { api async throws in
            let first = try await Self.rich(api.call(.post, "/api/notifications"), api)
            #expect(try await api.call(.post, "/api/notifications").status == 200)
            let refused = try await api.call(.post, "/api/notifications")
            #expect(refused.status == 507)
            #expect(refused.json["type"]?.text == "urn:pushline:problem:quota-reached")
            #expect(refused.json["detail"]?.text?.hasPrefix("2 rich notifications of this account are unread") == true)
            #expect(try await api.call(.post, "/api/notifications", as: .user("bob")).status == 200)
            #expect(try await api.call(.get, "/api/notifications/\(first.id)").status == 200)
            #expect(try await api.call(.post, "/api/notifications").status == 200)
            #expect(try await api.call(.get, "/api/notifications/\(first.id)").status == 404)
            #expect(try await Self.kept(api).count == 3)
        }
    }

    @Test func aSecureNotificationIsReadableByItsAddresseeOnly() async throws {
        try await Harness.run(Self.options { $0.isSecure = true }) { api async throws in
            let rich = try await Self.rich(api.call(.post, "/api/notifications", body: #""say \"hi\"""#), api)
            #expect(rich.isSecure)
            let path = "/api/notifications/\(rich.id)"
            #expect(try await api.call(.head, path).status == 200)
            #expect(try await api.call(.get, path, as: .user("bob")).status == 404)
            for isRead in ["false", "true"] {
                let answer = try await api.call(.get, path)
                #expect(answer.status == 200)
                #expect(answer.headers[.contentType]?.hasPrefix("application/json") == true)
                #expect(answer.text == #"{"Id":\#(rich.id),"Payload":"say \"hi\"","Read":\#(isRead)}"#)
            }
            // Who wants the other form says so, and is handed the content.
            let plain = try await Self.rich(api.call(.post, "/api/notifications", body: #"{"secure":false}"#), api)
            #expect(!plain.isSecure)
            let picture = try await api.call(.get, "/api/notifications/\(plain.id)")
            #expect(picture.headers[.contentType] == "image/png")
        }
    }

    @Test func contentOfASecureNotificationIsReadableByItsAddressee() async throws {
        let options = Self.options { $0.isSecure = true }
        try await Harness.run(options) { api async throws in
            // The app's default picture, which an operator has uploaded.
            let upload = try await api.call(.post, "/api/contents", as: .user("root"), bytes: [1, 2, 3])
            let content = try #require(upload.json["id"]?.text)
            var spec = options.spec
            spec.richDefault.content = content
            _ = try await api.store.apply(.app(.default, spec))
            #expect(try await api.call(.get, "/api/contents/\(content)").status == 404)
            #expect(try await api.call(.post, "/api/notifications").status == 200)
            #expect(try await api.call(.get, "/api/contents/\(content)").bytes == [1, 2, 3])
            #expect(try await api.call(.get, "/api/contents/\(content)", as: .user("bob")).status == 404)
        }
    }

    /// A notification makes its addressee a reader of what it names: to know an id is not enough.
    @Test func aNotificationOpensNoUploadOfAnother() async throws {
        try await Harness.run(Self.options { _ in }) { api async throws in
            let backend = try await api.key(.sender, name: "backend")
            for owner in [backend, .user("bob"), .user("root")] {
                let upload = try await api.call(.post, "/api/contents", as: owner, bytes: [1, 2, 3])
                let content = try #require(upload.json["id"]?.text)
                let body = #"{"content":"\#(content)"}"#
                #expect(try await api.call(.post, "/api/notifications", body: body).status == 404)
                #expect(try await api.call(.get, "/api/contents/\(content)").status == 404)
            }
            // One's own, and an operator any of the app's.
            let upload = try await api.call(.post, "/api/contents", bytes: [4])
            let body = #"{"content":"\#(try #require(upload.json["id"]?.text))"}"#
            #expect(try await api.call(.post, "/api/notifications", body: body).status == 200)
            #expect(try await api.call(.post, "/api/notifications", as: .user("root"), body: body).status == 200)
        }
    }

    @Test func aKeyReadsWhatItUploadedAndNobodyElses() async throws {
        try await Harness.run { api async throws in
            let backend = try await api.key(.sender, name: "backend")
            let other = try await api.key(.sender, name: "other")
            let upload = try await api.call(.post, "/api/contents", as: backend, bytes: [1, 2, 3])
            let content = try #require(upload.headers[.location])
            #expect(try await api.call(.get, content, as: backend).bytes == [1, 2, 3])
            let users = try #require(try await api.call(.post, "/api/contents", bytes: [4]).headers[.location])
            for (path, caller) in [(content, other), (content, .user("alice")), (users, backend)] {
                #expect(try await api.call(.get, path, as: caller).status == 404)
            }
        }
    }

    @Test func sendersAndOperatorsSeeWhichNotificationsWereRead() async throws {
        try await Harness.run { api async throws in
            let first = try await Self.rich(api.call(.post, "/api/notifications"), api)
            let second = try await Self.rich(api.call(.post, "/api/notifications", as: .user("bob")), api)
            func list(_ query: String, as caller: Harness.As) async throws -> [Int] {
                let answer = try await api.call(.get, "/api/notifications\(query)", as: caller)
                #expect(answer.status == 200)
                return (answer.json["items"]?.elements ?? []).compactMap { $0["id"]?.number.map(Int.init) }
            }
            let (one, two) = (Int(first.id), Int(second.id))
            #expect(try await list("", as: .user("root")) == [two, one])
            #expect(try await list("", as: .user("alice")) == [one])
            #expect(try await list("?user=alice&sender=alice", as: .user("root")) == [one])
            #expect(try await list("?sender=alice&user=bob", as: .user("root")).isEmpty)
            #expect(try await list("?since=2100-01-01T00:00:00Z", as: .user("root")).isEmpty)
            #expect(try await api.call(.get, "/api/notifications?sender=bob").status == 403)
            #expect(try await api.call(.get, "/api/notifications?limit=0").status == 400)
            let piece = try await api.call(.get, "/api/notifications?limit=1", as: .user("root"))
            let cursor = try #require(piece.json["cursor"]?.text)
            #expect(try await list("?cursor=\(cursor)", as: .user("root")) == [one])

            func isRead() async throws -> (JSONValue?, JSONValue?) {
                let item = try await api.call(.get, "/api/notifications").json["items"]?.elements.first
                return (item?["isRead"], item?["read"])
            }
            #expect(try await isRead() == (.bool(false), nil))
            #expect(try await api.call(.get, "/api/notifications/\(first.id)").status == 200)
            let (wasRead, moment) = try await isRead()
            #expect(wasRead == .bool(true))
            #expect(moment?.text != nil)
        }
    }
}
