import HubAzure
import HubWire
import PushModel
import RawHTTP
import Testing
import Undisturbed

/// Registrations through a hub's client (contract, section 4).
@Suite("Registrations of an Azure hub", .timeLimit(.minutes(5)), .undisturbed)
struct RegistrationTests {
    private static let place = WireRegistration.Place(address: "https://h/shop/registrations/1", updated: .now)

    /// One of each kind that the contract lists; Xiaomi's name on the wire is known of no source.
    static let kinds: [WireRegistration] = WirePlatform.allCases.filter { $0 != .xiaomi }.flatMap {
        platform -> [WireRegistration] in
        let parts = platform.handleElements.indices.map { platform == .apple ? "AB01" : "https://h/?a=\($0)&b=<" }
        let native = WireRegistration(platform: platform, id: "1-2-3", handle: parts, tags: ["a", "$UserId:{ann}"])
        var template = native
        template.template = WireTemplate(body: #"{"a":"$(x) ]]> <&"}"#, name: "news")
        switch platform {
        case .apple:
            template.template?.headers = [.init("apns-push-type", "alert")]
            template.template?.expiry = "$(until)"
            template.template?.priority = "5"
        case .windows: template.template?.headers = [.init("X-WNS-Type", "wns/toast")]
        case .windowsPhone: template.template?.headers = [.init("X-NotificationClass", "2")]
        case .baidu: template.template?.messageType = "1"
        default: break
        }
        return [native, template]
    }

    /// The answer with a registration's entry.
    static func entry(_ registration: WireRegistration, _ status: Int = 200) -> RawServer.Reply {
        .answer(status, [("Content-Type", WireNames.entry)], body: registration.entry(self.place))
    }

    @Test("an id is asked for without a body, and is the last part of the path of Location")
    func createID() async throws {
        let location = "https://shop-ns.servicebus.windows.net/shop/registrationids/123-456-7?api-version=2020-06"
        try await ScriptedHub.with(.answer(201, [("Location", location)])) { scripted in
            try await #expect(scripted.hub.createRegistrationID() == "123-456-7")
            let request = try scripted.request
            #expect(request.method == "POST" && request.target == "/shop/registrationids?api-version=2020-06")
            #expect(request.body.isEmpty)
        }
    }

    @Test("without a Location nobody knows the id", arguments: ["", "/", "https://h/%", "https://h/a%20b"])
    func noID(location: String) async throws {
        try await ScriptedHub.with(.answer(201, location.isEmpty ? [] : [("Location", location)])) { scripted in
            let error = try await failure { _ = try await scripted.hub.createRegistrationID() }
            #expect(error.kind == .unanswered)
        }
    }

    @Test("each kind is written so that it is read back as it was", arguments: Self.kinds)
    func upsert(registration: WireRegistration) async throws {
        var stored = registration
        (stored.etag, stored.expirationTime) = ("7", WireTime.never)
        try await ScriptedHub.with(Self.entry(stored)) { scripted in
            try await #expect(scripted.hub.put(registration) == stored)
            let request = try scripted.request
            #expect(request.method == "PUT" && request.target == "/shop/registrations/1-2-3?api-version=2020-06")
            #expect(request["Content-Type"] == "application/atom+xml;type=entry;charset=utf-8")
            #expect(request["If-Match"] == nil)
            // Id, ETag and ExpirationTime are the hub's.
            var sent = registration
            sent.id = nil
            try #expect(WireRegistration(reading: request.body) == sent)
            #expect(request.text.contains("<\(registration.descriptionName) xmlns=\"\(WireNames.connect)\""))
        }
    }

    @Test("an update names what it replaces", arguments: [("*", "*"), ("7", "W/\"7\"")])
    func update(etag: String, header: String) async throws {
        try await ScriptedHub.with(Self.entry(Self.kinds[0], 201), .refusal(412)) { scripted in
            try await scripted.hub.put(Self.kinds[0], ifMatch: etag)
            #expect(scripted.requests[0]["If-Match"] == header)
            let error = try await failure { try await scripted.hub.put(Self.kinds[0], ifMatch: etag) }
            #expect(error.kind == .preconditionFailed && !error.mayHaveBeenTaken)
        }
    }

    @Test("an id that has retired is gone, and one that is missing never leaves")
    func retired() async throws {
        try await ScriptedHub.with(.refusal(410)) { scripted in
            let error = try await failure { try await scripted.hub.put(Self.kinds[0]) }
            #expect(error.kind == .gone && error.status == 410)
            var nameless = Self.kinds[0]
            nameless.id = nil
            try await #expect(failure { try await scripted.hub.put(nameless) }.kind == .refused)
            #expect(scripted.requests.count == 1)
        }
    }

    @Test("a registration is read, or is not there")
    func read() async throws {
        try await ScriptedHub.with(Self.entry(Self.kinds[0]), .refusal(404), .answer(200, body: Array("<x".utf8))) {
            scripted in
            try await #expect(scripted.hub.registration("1/2") == Self.kinds[0])
            #expect(scripted.requests[0].target == "/shop/registrations/1%2F2?api-version=2020-06")
            try await #expect(scripted.hub.registration("1") == nil)
            let error = try await failure { _ = try await scripted.hub.registration("1") }
            #expect(error.kind == .unanswered && error.message.contains("is not XML"))
        }
    }

    @Test("a registration is deleted as it was read, and one that is not there is no error")
    func delete() async throws {
        try await ScriptedHub.with(.answer(200), .answer(204), .refusal(404), .refusal(412)) { scripted in
            try await scripted.hub.deleteRegistration("1", ifMatch: "7")
            try await scripted.hub.deleteRegistration("1")
            try await scripted.hub.deleteRegistration("1")
            #expect(scripted.requests.map { $0["If-Match"] } == ["W/\"7\"", "*", "*"])
            #expect(scripted.requests.allSatisfy { $0.method == "DELETE" && $0.body.isEmpty })
            let error = try await failure { try await scripted.hub.deleteRegistration("1", ifMatch: "6") }
            #expect(error.kind == .preconditionFailed)
        }
    }

    // MARK: Lists

    @Test("a list goes on where the hub says, with a token as it came, and ends where it says none")
    func pages() async throws {
        let replies: [RawServer.Reply] = [.feed([Self.kinds[0], Self.kinds[3]], next: "a%2Fb%3D%3D"), .feed([])]
        try await ScriptedHub.with(replies[0], replies[1]) { scripted in
            let page = try await scripted.hub.registrations(top: 2)
            #expect(page.items == [Self.kinds[0], Self.kinds[3]] && page.unreadable == 0)
            let last = try await scripted.hub.registrations(continuation: page.continuation)
            #expect(last.items.isEmpty && last.continuation == nil)
            #expect(
                scripted.requests.map(\.target) == [
                    "/shop/registrations?$top=2&api-version=2020-06",
                    "/shop/registrations?$top=100&continuationtoken=a%2Fb%3D%3D&api-version=2020-06",
                ]
            )
        }
    }

    @Test("a token that is not encoded yet is, and one that would be another header or never end is not used")
    func tokens() async throws {
        let replies: [RawServer.Reply] = [
            .feed([], next: "a b&x=1"), .feed([], next: String(repeating: "a", count: 5000)),
            .feed([], next: "same"),
        ]
        try await ScriptedHub.with(replies[0], replies[1], replies[2]) { scripted in
            try await #expect(scripted.hub.registrations().continuation == "a%20b%26x%3D1")
            let long = try await failure { _ = try await scripted.hub.registrations() }
            #expect(long.kind == .unanswered)
            let error = try await failure { _ = try await scripted.hub.registrations(continuation: "same") }
            #expect(error.kind == .refused && error.message.contains("gave as the next one"))
        }
    }

    @Test("a list of a tag has it in its path, and one of a device its handle in a filter")
    func selections() async throws {
        let selections: [AzureSelection] = [
            .tag("$InstallationId:{a/b}"), .handle(.apple, ["ab01"]), .handle(.windows, ["https://h/?a=1&b='"]),
            .handle(.browser, ["https://h/e", "p", "a"]),
        ]
        let empty = RawServer.Reply.feed([])
        try await ScriptedHub.with(empty, empty, empty, empty) { scripted in
            for selection in selections { _ = try await scripted.hub.registrations(selection, top: 1000) }
            let end = "$top=100&api-version=2020-06"
            #expect(
                scripted.requests.map(\.target) == [
                    "/shop/tags/%24InstallationId%3A%7Ba%2Fb%7D/registrations?\(end)",
                    "/shop/registrations?$filter=ChannelUri%20eq%20%27AB01%27&\(end)",
                    "/shop/registrations?$filter=ChannelUri%20eq%20%27https%3A%2F%2Fh%2F%3Fa%3D1%26b%3D%27%27%27&\(end)",
                    "/shop/registrations?$filter=Endpoint%20eq%20%27https%3A%2F%2Fh%2Fe%27%20and%20P256DH%20eq%20%27p%27%20and%20Auth%20eq%20%27a%27&\(end)",
                ]
            )
        }
    }

    @Test("what a page has of kinds that nobody knows is counted")
    func unreadable() async throws {
        let text = "<feed><entry><content><XiaoRegistrationDescription/></content></entry><entry/></feed>"
        try await ScriptedHub.with(.xml(200, text)) { scripted in
            let page = try await scripted.hub.registrations()
            #expect(page.items.isEmpty && page.unreadable == 2)
        }
    }
}
