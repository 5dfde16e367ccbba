import HTTPTypes
import PushModel
import Store
import Testing
import Undisturbed

@testable import HTTPAPI

/// The routes by which a backend keeps the devices of its users, and users their own.
@Suite(.undisturbed) struct RegistrationTests {
    private static let path = "/api/registrations"

    private static func body(_ handle: String, user: String? = nil, tags: String = "[]") -> String {
        let user = user.map { #","user":"\#($0)""# } ?? ""
        return #"{"service":"fcm","handle":"\#(handle)"\#(user),"tags":\#(tags)}"#
    }

    private static func tags(_ answer: Harness.Answer) throws -> [String?] {
        try #require(answer.json["tags"]).elements.map(\.text)
    }

    @Test func aBackendKeepsTheDevicesOfUsersWithoutAccounts() async throws {
        try await Harness.run { api async throws in
            let backend = try await api.key(.sender)
            let id = "\(Self.path)/phone-17"
            let body = Self.body("token:1", user: "Nina", tags: #"["news","vip:gold"]"#)
            let put = try await api.call(.put, id, as: backend, body: body)
            #expect(put.status == 200, "\(put.text)")
            #expect(put.headers[.job] != nil)
            #expect(put.json["user"]?.text == "Nina")
            #expect(try Self.tags(put) == ["news", "username:nina", "vip:gold"])
            // What was written is read.
            #expect(try await api.call(.get, id, as: backend).text == put.text)
            let patched = try await api.call(
                .patch,
                id,
                as: backend,
                body: #"{"tags":{"add":["beta"],"remove":["NEWS"]}}"#
            )
            #expect(patched.status == 200, "\(patched.text)")
            #expect(try Self.tags(patched) == ["beta", "username:nina", "vip:gold"])
            for query in ["user=nina", "tag=beta", "handle=token:1", "service=fcm&handle=token:1&user=nina"] {
                let list = try await api.call(.get, "\(Self.path)?\(query)", as: backend)
                #expect(list.json["items"]?.elements.count == 1, "\(query): \(list.text)")
            }
            #expect(try await api.call(.delete, id, as: backend).status == 204)
            #expect(try await api.call(.patch, id, as: backend, body: #"{"tags":{"add":["x"]}}"#).status == 410)
            #expect(try await api.call(.put, id, as: backend, body: body).status == 200)
        }
    }

    @Test func aDeviceIsFoundByItsHandle() async throws {
        try await Harness.run { api async throws in
            let backend = try await api.key(.sender)
            let made = try await api.call(.post, Self.path, as: backend, body: Self.body("token:1", user: "nina"))
            #expect(made.status == 201, "\(made.text)")
            let id = try #require(made.json["id"]?.text)
            #expect(made.headers[.location] == "\(Self.path)/\(id)")
            let again = try await api.call(.post, Self.path, as: backend, body: Self.body("token:1", user: "olaf"))
            #expect(again.status == 200 && again.json["id"]?.text == id, "\(again.text)")
            #expect(again.json["user"]?.text == "olaf")
            // A device of nobody's is reached by its tags.
            let nobodys = try await api.call(.post, Self.path, as: backend, body: Self.body("t:2", tags: #"["news"]"#))
            #expect(nobodys.status == 201 && nobodys.json["user"] == nil, "\(nobodys.text)")
        }
    }

    /// The request is right: what refuses it is the registration as it is now.
    @Test func aPatchOfWhatIsNotLiveIsAConflict() async throws {
        try await Harness.run { api async throws in
            let backend = try await api.key(.sender)
            for id in ["phone-1", "phone-2"] {
                let put = try await api.call(.put, "\(Self.path)/\(id)", as: backend, body: Self.body("token:1"))
                #expect(put.status == 200, "\(put.text)")
            }
            let patch = #"{"tags":{"add":["x"],"remove":null}}"#
            let replaced = try await api.call(.patch, "\(Self.path)/phone-1", as: backend, body: patch)
            #expect(replaced.status == 409 && replaced.text.contains("not live"), "\(replaced.text)")
            #expect(try await api.call(.patch, "\(Self.path)/phone-2", as: backend, body: patch).status == 200)
        }
    }

    @Test func aUserKeepsTheirOwnDevicesAlone() async throws {
        try await Harness.run { api async throws in
            let backend = try await api.key(.sender)
            let own = try await api.call(.post, Self.path, body: Self.body("token:1", tags: #"["news"]"#))
            #expect(own.status == 201, "\(own.text)")
            let id = "\(Self.path)/\(try #require(own.json["id"]?.text))"
            #expect(try Self.tags(own) == ["news", "username:alice"])
            #expect(try await api.call(.patch, id, body: #"{"tags":{"add":["beta","from:alice"]}}"#).status == 200)
            let others = try await api.call(.put, "\(Self.path)/bobs", as: backend, body: Self.body("t:2", user: "bob"))
            #expect(others.status == 200)
            let refusals: [(HTTPRequest.Method, String, String?, Int)] = [
                (.put, "\(Self.path)/x", Self.body("t:3", user: "bob"), 403),
                (.post, Self.path, Self.body("t:3", user: "bob"), 403),
                (.post, Self.path, Self.body("t:3", tags: #"["username:bob"]"#), 403),
                (.put, "\(Self.path)/bobs", Self.body("t:3"), 404),
                (.patch, "\(Self.path)/bobs", #"{"tags":{"add":["x"]}}"#, 404),
                (.patch, id, #"{"tags":{"add":["from:bob"]}}"#, 403),
                (.get, "\(Self.path)/bobs", nil, 404), (.get, "\(Self.path)/none", nil, 404),
                (.delete, "\(Self.path)/bobs", nil, 404), (.get, "\(Self.path)?user=bob", nil, 403),
            ]
            for (method, path, body, status) in refusals {
                let answer = try await api.call(method, path, body: body)
                #expect(answer.status == status, "\(method) \(path) \(body ?? ""): \(answer.text)")
            }
            let list = try await api.call(.get, "\(Self.path)?handle=t:2")
            #expect(list.json["items"]?.elements.isEmpty == true)
        }
    }

    @Test func reservedTagsAreTheBackendsToSet() async throws {
        var options = Harness.Options()
        options.spec.reservedTags = ["vip:"]
        try await Harness.run(options) { api async throws in
            let backend = try await api.key(.sender)
            let body = Self.body("token:1", user: "alice", tags: #"["vip:gold"]"#)
            #expect(try await api.call(.put, "\(Self.path)/a", as: backend, body: body).status == 200)
            #expect(try await api.call(.put, "\(Self.path)/a", body: body).status == 403)
            let patch = #"{"tags":{"add":["VIP:silver"]}}"#
            #expect(try await api.call(.patch, "\(Self.path)/a", body: patch).status == 403)
            #expect(try await api.call(.patch, "\(Self.path)/a", as: backend, body: patch).status == 200)
        }
    }

    @Test func aFaultyBodyIsRefusedByItsMember() async throws {
        try await Harness.run { api async throws in
            let backend = try await api.key(.sender)
            let faults: [(HTTPRequest.Method, String, String)] = [
                (.put, #"{}"#, "service"), (.put, #"{"service":"x","handle":"a"}"#, "service"),
                (.put, #"{"service":"apns","handle":"xyz"}"#, "handle"),
                (.put, #"{"service":"fcm","handle":"a","user":"a\nb"}"#, "user"),
                (.put, #"{"service":"fcm","handle":"a","tags":["a b"]}"#, "tags[0]"),
                (.put, #"{"service":"fcm","handle":"a","user":"ann","tags":["from:bob"]}"#, "tags[0]"),
                (.put, #"{"service":"fcm","handle":"a","id":"b"}"#, "id"),
                (.patch, #"{}"#, "tags"), (.patch, #"{"tags":{}}"#, "tags"),
                (.patch, #"{"tags":{"set":[]}}"#, "tags.set"),
                (.patch, #"{"tags":{"add":["username:bob"]}}"#, "tags.add"),
                (.patch, #"{"tags":{"add":["from:bob"]}}"#, "tags.add"),
                (.patch, #"{"tags":{"remove":["username:bob"]}}"#, "tags.remove"),
                (.patch, #"{"tags":{"add":"x"}}"#, "tags.add"),
            ]
            for (method, body, member) in faults {
                let answer = try await api.call(method, "\(Self.path)/a", as: backend, body: body)
                #expect(answer.status == 400, "\(method) \(body): \(answer.text)")
                let named = answer.json["errors"]?.elements.first?["member"]?.text
                #expect(named == member, "\(method) \(body): \(answer.text)")
            }
            #expect(try await api.call(.put, "\(Self.path)/a%20b", as: backend, body: Self.body("t:1")).status == 404)
        }
    }

    @Test func aHubThatDoesNotAnswerDelays() async throws {
        var options = Harness.Options()
        options.hub = .isSilent
        try await Harness.run(options) { api async throws in
            let backend = try await api.key(.sender)
            let body = Self.body("token:1", user: "nina")
            let late = try await api.call(
                .put,
                "\(Self.path)/a",
                as: backend,
                body: body,
                headers: ["Prefer": "wait=0"]
            )
            #expect(late.status == 202, "\(late.text)")
            let job = try #require(late.headers[.location])
            #expect(try await api.call(.get, job, as: backend).json["kind"]?.text == "register")
        }
    }
}
