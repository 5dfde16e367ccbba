import HubAzure
import HubWire
import PushModel
import RawHTTP
import Testing
import Undisturbed

/// Installations through a hub's client (contract, section 5).
@Suite("Installations of an Azure hub", .timeLimit(.minutes(5)), .undisturbed)
struct InstallationTests {
    private static var installation: WireInstallation {
        var installation = WireInstallation(id: "phone-1", platform: .fcmV1, pushChannel: "abc")
        (installation.userID, installation.tags) = ("ann", ["a"])
        var template = WireInstallation.Template(name: "news", body: "{}")
        template.tags = ["b"]
        installation.templates = [template]
        return installation
    }

    @Test("it is put whole, without what the hub decides")
    func put() async throws {
        try await ScriptedHub.with(.answer(200), .answer(204)) { scripted in
            try await scripted.hub.put(Self.installation)
            try await scripted.hub.put(WireInstallation(id: "a b", platform: .apple, pushChannel: "AB01"))
            let request = scripted.requests[0]
            #expect(request.method == "PUT" && request.target == "/shop/installations/phone-1?api-version=2020-06")
            #expect(request["Content-Type"] == "application/json;charset=utf-8")
            #expect(
                request.text
                    == #"{"installationId":"phone-1","userId":"ann","platform":"fcmv1","pushChannel":"abc","tags":["a"],"templates":{"news":{"body":"{}","tags":["b"]}}}"#
            )
            #expect(scripted.requests[1].target == "/shop/installations/a%20b?api-version=2020-06")
        }
    }

    @Test("it is read although its media type is that of XML, and may not be there yet")
    func read() async throws {
        let text = String(decoding: Self.installation.json.bytes, as: UTF8.self)
        try await ScriptedHub.with(.xml(200, text), .refusal(404), .xml(200, "[]"), .refusal(429)) { scripted in
            var stored = Self.installation
            stored.expirationTime = WireTime.neverOfInstallation
            try await #expect(scripted.hub.installation("phone-1") == stored)
            try await #expect(scripted.hub.installation("phone-1") == nil)
            try await #expect(failure { _ = try await scripted.hub.installation("phone-1") }.kind == .unanswered)
            try await #expect(failure { _ = try await scripted.hub.installation("phone-1") }.kind == .throttled)
        }
    }

    @Test("a patch has texts as values", arguments: [200, 204])
    func patch(status: Int) async throws {
        try await ScriptedHub.with(.answer(status), .refusal(404)) { scripted in
            let patch = InstallationPatch([
                .init(.add, ["tags"], "x"), .init(.remove, ["tags", "a/b"]),
                .init(.replace, ["templates", "news"], #"{"body":"{}"}"#),
            ])
            try await scripted.hub.patch("phone-1", patch)
            let request = scripted.requests[0]
            #expect(request.method == "PATCH" && request["Content-Type"] == "application/json-patch+json")
            #expect(
                request.text
                    == #"[{"op":"add","path":"/tags","value":"x"},{"op":"remove","path":"/tags/a~1b"},{"op":"replace","path":"/templates/news","value":"{\"body\":\"{}\"}"}]"#
            )
            try await #expect(failure { try await scripted.hub.patch("phone-1", patch) }.kind == .notFound)
        }
    }

    @Test("deleting one that is not there is no error", arguments: [200, 204, 404])
    func delete(status: Int) async throws {
        try await ScriptedHub.with(.answer(status)) { scripted in
            try await scripted.hub.deleteInstallation("phone-1")
            try #expect(scripted.request.method == "DELETE")
        }
    }
}
