import HTTPTypes
import PushModel
import Testing
import Undisturbed

@testable import HTTPAPI

/// Looking for a device by whatever somebody has of it.
@Suite(.undisturbed) struct RegistrationFindTests {
    private static let token = String(repeating: "ab", count: 32)

    private static func found(_ api: Harness, _ what: String, as caller: Harness.As) async throws -> [String] {
        let answer = try await api.call(.post, "/api/registrations/find", as: caller, body: #"{"what":"\#(what)"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(!answer.text.contains(Self.token), "a whole handle")
        return (answer.json["found"]?.elements ?? []).map { found in
            let ids = (found["items"]?.elements ?? []).compactMap { $0["id"]?.text }
            return "\(found["by"]?.text ?? "") \(ids.joined(separator: " "))"
        }
    }

    @Test func itIsFoundByWhatItIs() async throws {
        try await Harness.run { api async throws in
            let id = try await api.register(handle: Self.token, tags: #"["news"]"#)
            let shop = try await api.key(.sender, name: "shop")
            // Its id is another device's user.
            let other = String(repeating: "cd", count: 32)
            let body = #"{"service":"apns","handle":"\#(other)","user":"\#(id)"}"#
            #expect(try await api.call(.put, "/api/registrations/x", as: shop, body: body).status == 200)
            for caller in [shop, .user("root"), try await api.key(.viewer, name: "eyes")] {
                #expect(try await Self.found(api, Self.token, as: caller) == ["handle \(id)"])
                #expect(try await Self.found(api, Self.token.uppercased(), as: caller) == ["handle \(id)"])
                #expect(try await Self.found(api, "Alice", as: caller) == ["user \(id)"])
                #expect(try await Self.found(api, "news", as: caller) == ["tag \(id)"])
                #expect(try await Self.found(api, "username:alice", as: caller) == ["tag \(id)"])
                #expect(try await Self.found(api, id, as: caller) == ["id \(id)", "user x"])
                for nothing in ["nobody", "a b\u{e9}", String(Self.token.dropLast())] {
                    #expect(try await Self.found(api, nothing, as: caller) == [])
                }
            }
        }
    }

    @Test func othersFindNothing() async throws {
        try await Harness.run { api async throws in
            for caller in [Harness.As.user("alice"), .user("desk")] {
                let answer = try await api.call(
                    .post,
                    "/api/registrations/find",
                    as: caller,
                    body: #"{"what":"alice"}"#
                )
                #expect(answer.status == 403)
            }
            let root = Harness.As.user("root")
            let long = String(repeating: "x", count: 2049)
            for body in ["{}", #"{"what":""}"#, #"{"what":"\#(long)"}"#, #"{"what":7}"#, #"{"handle":"x"}"#] {
                #expect(try await api.call(.post, "/api/registrations/find", as: root, body: body).status == 400)
            }
        }
    }
}
