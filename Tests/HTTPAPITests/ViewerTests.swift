import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// A viewer reads what an operator reads, and does nothing: by account and by key.
@Suite(.undisturbed) struct ViewerTests {
    private static func viewers(_ api: Harness) async throws -> [Harness.As] {
        let added = try await api.call(
            .post,
            "/api/accounts",
            as: .user("root"),
            body: #"{"name":"vera","role":"viewer","password":"vera-password"}"#
        )
        #expect(added.status == 201, "\(added.text)")
        return [.user("vera"), try await api.key(.viewer, name: "eyes")]
    }

    /// Whatever is added to the API is one or the other.
    @Test func everyRouteThatChangesSomethingIsRefused() async throws {
        let harmless: Set<String> = [
            "/api/sends/count", "/api/sends/preview", "/api/session", "/api/registrations/find",
        ]
        try await Harness.run { api async throws in
            let viewers = try await Self.viewers(api)
            var refused = 0
            for (template, methods) in api.table.methods where !template.hasPrefix(Route.appPrefix) {
                for method in methods where method != .get && !harmless.contains(template) {
                    let path = template.replacing(#/\{\w+\}/#, with: "1")
                    for viewer in viewers {
                        let answer = try await api.call(method, path, as: viewer, body: "{}")
                        #expect(answer.status == 403, "\(method) \(path): \(answer.text)")
                        refused += 1
                    }
                }
            }
            #expect(refused > 30)
            #expect(try await api.store.acts(ActQuery(app: .default)).items.map(\.act.kind) == [.accountAdd])
        }
    }

    @Test func aViewerReadsWhatAnOperatorReads() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(as: .user("bob"))
            let sent = try await api.call(
                .post,
                "/api/sends",
                as: .user("bob"),
                body: #"{"to":{"user":"bob"},"body":"x"}"#
            )
            let job = try #require(sent.json["id"]?.text)
            let root = Harness.As.user("root")
            for viewer in try await Self.viewers(api) {
                for path in [
                    "/api/jobs/\(job)", "/api/jobs?user=bob", "/api/jobs/\(job)/deliveries", "/api/registrations/\(id)",
                    "/api/registrations?user=bob", "/api/accounts", "/api/keys", "/api/dead", "/api/queues",
                    "/api/audit", "/api/notifications?user=bob",
                ] {
                    let (seen, wanted) = (
                        try await api.call(.get, path, as: viewer), try await api.call(.get, path, as: root)
                    )
                    #expect(seen.status == 200 && wanted.status == 200, "\(path): \(seen.text)")
                    if !path.hasPrefix("/api/jobs") { #expect(seen.text == wanted.text, "\(path)") }
                }
                #expect(try await api.call(.get, "/api/registrations/export", as: viewer).status == 403)
                let count = try await api.call(.post, "/api/sends/count", as: viewer, body: #"{"to":{"user":"bob"}}"#)
                #expect(count.status == 200, "\(count.text)")
                let preview = try await api.call(.post, "/api/sends/preview", as: viewer, body: RoleTests.toTag)
                #expect(preview.status == 200, "\(preview.text)")
                #expect(try await api.call(.get, "/api/apps/other/jobs", as: viewer).status == 401)
            }
        }
    }

    /// A session of the page has the role of a user, who sends and registers: so a viewer has none, nor one from before.
    @Test func aViewerHasNoSessionOfThePage() async throws {
        try await Harness.run { api async throws in
            _ = try await Self.viewers(api)
            func open(_ name: String) async throws -> Harness.Answer {
                let body = #"{"user":"\#(name)","password":"\#(name)-password"}"#
                return try await api.call(.post, "/api/session", as: .nobody, body: body)
            }
            #expect(try await open("vera").status == 403)
            let opened = try await open("bob")
            #expect(opened.status == 201)
            let cookie = try #require(opened.headers[.setCookie]?.split(separator: ";").first.map(String.init))
            let headers = ["Cookie": cookie, "Sec-Fetch-Site": "same-origin"]
            #expect(try await api.call(.get, "/api/jobs", as: .nobody, headers: headers).status == 200)
            let root = Harness.As.user("root")
            #expect(
                try await api.call(.patch, "/api/accounts/bob", as: root, body: #"{"role":"viewer"}"#).status == 200
            )
            #expect(try await api.call(.get, "/api/jobs", as: .nobody, headers: headers).status == 401)
        }
    }
}
