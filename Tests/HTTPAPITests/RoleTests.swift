import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

@Suite(.undisturbed) struct RoleTests {
    /// Route by route: what a user, a sender and an operator get, by account and by key.
    struct Row: Sendable {
        let method: HTTPRequest.Method
        let path: String
        var body: String?
        let user: Int
        let sender: Int
        let senderKey: Int
        let operatorKey: Int
    }

    static let toTag = #"{"to":{"tag":"news"},"body":"x"}"#
    static let rows: [Row] = [
        Row(
            method: .post,
            path: "/api/sends",
            body: #"{"to":{"user":"bob"},"body":"x"}"#,
            user: 202,
            sender: 202,
            senderKey: 202,
            operatorKey: 202
        ),
        Row(method: .post, path: "/api/sends", body: toTag, user: 403, sender: 202, senderKey: 202, operatorKey: 202),
        Row(
            method: .post,
            path: "/api/sends",
            body: #"{"to":{"tags":["username:alice"]},"body":"x"}"#,
            user: 403,
            sender: 202,
            senderKey: 202,
            operatorKey: 202
        ),
        Row(
            method: .post,
            path: "/api/notifications?pns=apns&to_tag=bob",
            body: "\"x\"",
            user: 200,
            sender: 200,
            senderKey: 200,
            operatorKey: 200
        ),
        Row(method: .post, path: "/api/notifications", user: 200, sender: 200, senderKey: 403, operatorKey: 403),
        Row(method: .get, path: "/api/jobs", user: 200, sender: 200, senderKey: 200, operatorKey: 200),
        Row(method: .get, path: "/api/jobs?user=bob", user: 403, sender: 403, senderKey: 403, operatorKey: 200),
        Row(method: .get, path: "/api/registrations", user: 200, sender: 200, senderKey: 200, operatorKey: 200),
        Row(
            method: .get,
            path: "/api/registrations?user=bob",
            user: 403,
            sender: 403,
            senderKey: 200,
            operatorKey: 200
        ),
        Row(method: .delete, path: "/api/registrations/none", user: 404, sender: 404, senderKey: 404, operatorKey: 404),
        Row(method: .get, path: "/api/accounts", user: 403, sender: 403, senderKey: 403, operatorKey: 200),
        Row(
            method: .patch,
            path: "/api/accounts/bob",
            body: #"{"disabled":false}"#,
            user: 403,
            sender: 403,
            senderKey: 403,
            operatorKey: 200
        ),
        Row(
            method: .post,
            path: "/api/accounts",
            body: #"{"name":"alice","role":"user","password":"long enough"}"#,
            user: 403,
            sender: 403,
            senderKey: 403,
            operatorKey: 409
        ),
        Row(method: .delete, path: "/api/accounts/none", user: 403, sender: 403, senderKey: 403, operatorKey: 404),
        Row(method: .delete, path: "/api/users/nobody", user: 403, sender: 403, senderKey: 202, operatorKey: 202),
        Row(method: .get, path: "/api/channels", user: 403, sender: 422, senderKey: 422, operatorKey: 422),
        Row(method: .get, path: "/api/keys", user: 403, sender: 403, senderKey: 403, operatorKey: 200),
        Row(
            method: .post,
            path: "/api/keys",
            body: #"{"name":"new","role":"sender"}"#,
            user: 403,
            sender: 403,
            senderKey: 403,
            operatorKey: 201
        ),
        Row(method: .delete, path: "/api/keys/none", user: 403, sender: 403, senderKey: 403, operatorKey: 404),
        Row(method: .get, path: "/api/dead", user: 403, sender: 403, senderKey: 403, operatorKey: 200),
        Row(method: .get, path: "/api/dead/1", user: 403, sender: 403, senderKey: 403, operatorKey: 404),
        Row(method: .delete, path: "/api/dead/1", user: 403, sender: 403, senderKey: 403, operatorKey: 404),
        Row(method: .post, path: "/api/dead/1/replay", user: 403, sender: 403, senderKey: 403, operatorKey: 404),
        Row(method: .get, path: "/api/queues", user: 403, sender: 403, senderKey: 403, operatorKey: 200),
        Row(method: .post, path: "/api/queues/send/pause", user: 403, sender: 403, senderKey: 403, operatorKey: 200),
        Row(method: .post, path: "/api/queues/send/resume", user: 403, sender: 403, senderKey: 403, operatorKey: 200),
        Row(method: .post, path: "/api/contents", body: "x", user: 201, sender: 201, senderKey: 201, operatorKey: 201),
    ]

    @Test func everyRoleHasItsPermissions() async throws {
        try await Harness.run { api async throws in
            let senderKey = try await api.key(.sender, name: "sender")
            let operatorKey = try await api.key(.operator, name: "operator")
            for row in Self.rows {
                let callers: [(Harness.As, Int)] = [
                    (.user("alice"), row.user), (.user("desk"), row.sender), (senderKey, row.senderKey),
                    (operatorKey, row.operatorKey),
                ]
                for (caller, status) in callers {
                    let answer = try await api.call(row.method, row.path, as: caller, body: row.body)
                    #expect(
                        answer.status == status,
                        "\(row.method) \(row.path) \(row.body ?? "") as \(caller): \(answer.text)"
                    )
                }
            }
        }
    }

    @Test func jobsOfOthersAre404() async throws {
        try await Harness.run { api async throws in
            let senderKey = try await api.key(.sender, name: "sender")
            let otherKey = try await api.key(.sender, name: "other")
            let body = #"{"to":{"user":"bob"},"body":"x"}"#
            let owners: [Harness.As] = [.user("alice"), .user("desk"), senderKey]
            let strangers: [[Harness.As]] = [
                [.user("bob"), .user("desk"), senderKey], [.user("alice"), senderKey],
                [.user("alice"), .user("desk"), otherKey],
            ]
            for (owner, others) in zip(owners, strangers) {
                let path = try #require(
                    try await api.call(.post, "/api/sends", as: owner, body: body).headers[.location]
                )
                #expect(try await api.call(.get, path, as: owner).status == 200)
                #expect(try await api.call(.get, "\(path)/deliveries", as: owner).status == 200)
                #expect(try await api.call(.get, path, as: .user("root")).status == 200)
                for stranger in others {
                    #expect(try await api.call(.get, path, as: stranger).status == 404)
                    #expect(try await api.call(.get, "\(path)/deliveries", as: stranger).status == 404)
                    #expect(try await api.call(.delete, path, as: stranger).status == 404)
                }
            }
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).json["items"]?.elements.isEmpty == true)
            #expect(try await api.call(.get, "/api/jobs", as: senderKey).json["items"]?.elements.count == 1)
            #expect(try await api.call(.get, "/api/jobs", as: .user("root")).json["items"]?.elements.count == 3)
        }
    }

    @Test func registrationsAreListedAndDeletedByTheirOwnerOrAnOperator() async throws {
        try await Harness.run { api async throws in
            let mine = try await api.register(as: .user("alice"), platform: "fcm", handle: "token-of-alice-0123456789")
            let other = try await api.register(
                as: .user("bob"),
                platform: "fcm",
                handle: "token-of-bob",
                tags: #"["news"]"#
            )
            let list = try await api.call(.get, "/api/registrations")
            #expect(list.json["items"]?.elements.compactMap { $0["id"]?.text } == [mine])
            // A whole handle would let its reader send to the device.
            #expect(!list.text.contains("token-of-alice-0123456789"))
            let all = try await api.call(.get, "/api/registrations", as: .user("root"))
            #expect(all.json["items"]?.elements.count == 2)
            let tagged = try await api.call(
                .get,
                "/api/registrations?tag=news&service=fcm&state=live&limit=1",
                as: .user("root")
            )
            #expect(tagged.json["items"]?.elements.compactMap { $0["user"]?.text } == ["bob"])
            #expect(try await api.call(.delete, "/api/registrations/\(other)").status == 404)
            #expect(try await api.call(.delete, "/api/registrations/\(other)", as: .user("root")).status == 204)
            #expect(try await api.call(.delete, "/api/registrations/\(mine)").status == 204)
            #expect(try await api.call(.get, "/api/registrations").json["items"]?.elements.isEmpty == true)
        }
    }

    @Test func operatorsManageAccountsAndKeys() async throws {
        try await Harness.run { api async throws in
            let root = Harness.As.user("root")
            let accounts = try await api.call(.get, "/api/accounts", as: root)
            #expect(
                accounts.json["items"]?.elements.compactMap { $0["name"]?.text } == ["alice", "bob", "desk", "root"]
            )
            #expect(!accounts.text.contains("scrypt"))
            let disabled = try await api.call(.patch, "/api/accounts/bob", as: root, body: #"{"disabled":true}"#)
            #expect(disabled.json["disabled"] == .bool(true))
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 401)
            #expect(
                try await api.call(.patch, "/api/accounts/bob", as: root, body: #"{"disabled":false}"#).status == 200
            )
            #expect(try await api.call(.get, "/api/jobs", as: .user("bob")).status == 200)
            #expect(
                try await api.call(.patch, "/api/accounts/zoe", as: root, body: #"{"disabled":true}"#).status == 404
            )
            for (body, member) in [
                ("{}", ""), (#"{"disabled":1}"#, "disabled"), (#"{"enabled":true}"#, "enabled"),
            ] {
                let answer = try await api.call(.patch, "/api/accounts/bob", as: root, body: body)
                #expect(answer.wrongMembers == [member])
            }
            let created = try await api.call(.post, "/api/keys", as: root, body: #"{"name":"shop","role":"sender"}"#)
            #expect(created.status == 201)
            let secret = try #require(created.json["secret"]?.text)
            #expect(try await api.call(.get, "/api/jobs", as: .bearer(secret)).status == 200)
            let again = #"{"name":"shop","role":"sender"}"#
            let taken = try await api.call(.post, "/api/keys", as: root, body: again)
            #expect(taken.status == 409)
            #expect(taken.json["detail"]?.text == #"default has a key named "shop"; choose another name"#)
            #expect(taken.json["type"]?.text == "urn:pushline:problem:name-taken")
            #expect(try await !api.call(.get, "/api/keys", as: root).text.contains(secret))
            #expect(try await api.call(.delete, "/api/keys/shop", as: root).status == 204)
            let revoked = try await api.call(.post, "/api/keys", as: root, body: again)
            #expect(revoked.json["detail"]?.text?.contains("belongs to a revoked key of default") == true)
            for (body, member) in [
                (#"{"role":"sender"}"#, "name"), (#"{"name":"a b","role":"sender"}"#, "name"),
                (#"{"name":"a","role":"user"}"#, "role"), (#"{"name":"a"}"#, "role"),
            ] {
                let answer = try await api.call(.post, "/api/keys", as: root, body: body)
                #expect(answer.wrongMembers == [member])
            }
        }
    }
}
