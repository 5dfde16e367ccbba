import Hub
import HubWire
import NIOHTTP1
import PushModel
import RawHTTP
import Testing
import Undisturbed

@testable import HubAzure

/// The registrations of an app whose hub is at Azure, as its jobs change them.
@Suite("Registrations of an app at an Azure hub", .timeLimit(.minutes(5)), .undisturbed)
struct AppHubTests {
    private static let token = String(repeating: "ab", count: 32)
    private static let place = WireRegistration.Place(address: "https://h/shop/registrations/1", updated: .now)

    private static let spec: AppSpec = {
        var spec = AppSpec()
        spec.azureHub = AppSpec.AzureHub {
            $0.connectionStringFile = "/nowhere"
            $0.name = "shop"
            $0.platforms = [.apns]
        }
        return spec
    }()

    /// As a hub shows it: tokens of APNs in capitals.
    private static func shown(_ id: String, of user: String, token: String = Self.token) -> WireRegistration {
        let tags = ["username:\(user)"]
        return WireRegistration(platform: .apple, id: id, handle: [token.uppercased()], tags: tags)
    }

    private static func entry(_ registration: WireRegistration) -> RawServer.Reply {
        .answer(200, [("Content-Type", WireNames.entry)], body: registration.entry(self.place))
    }

    private static func upsert(_ token: String = Self.token) throws -> RegisterRequest.Upsert {
        RegisterRequest.Upsert(pns: .apns, handle: try self.spec.handle(token, of: .apns), tags: [])
    }

    private static func register(
        _ request: RegisterRequest,
        by user: String?,
        at scripted: ScriptedHub
    ) async throws -> RegisterResult? {
        let job = Job(
            id: .make(),
            sequence: 1,
            app: .default,
            user: try user.map { try UserName($0, .folded) },
            key: nil,
            priority: .normal,
            work: .register(request),
            state: .running,
            result: nil,
            reason: nil,
            accepted: .now,
            started: nil,
            finished: nil,
            expires: .now,
            due: nil,
            counts: [:]
        )
        return try await AzureAppHub(hub: scripted.hub).register(request, for: job, spec: self.spec)
    }

    @Test("a phone that changes users keeps its registration, though the hub writes its token in capitals")
    func changeOfUser() async throws {
        let id = try #require(RegistrationID("1-2-3"))
        let (annas, bens) = (Self.shown("1-2-3", of: "ann"), Self.shown("1-2-3", of: "ben"))
        try await ScriptedHub.with(Self.entry(annas), Self.entry(bens)) { scripted in
            let result = try await Self.register(.upsert(id, try Self.upsert()), by: "ben", at: scripted)
            #expect(result == .done)
            #expect(scripted.requests.map(\.method) == ["GET", "PUT"])
            let body = String(decoding: scripted.requests[1].body, as: UTF8.self)
            #expect(body.contains("<DeviceToken>\(Self.token.uppercased())</DeviceToken>"))
        }
    }

    @Test("another's registration of another phone is not found")
    func anothers() async throws {
        let id = try #require(RegistrationID("1-2-3"))
        let other = Self.shown("1-2-3", of: "ann", token: String(repeating: "cd", count: 32))
        try await ScriptedHub.with(Self.entry(other)) { scripted in
            let result = try await Self.register(.upsert(id, try Self.upsert()), by: "ben", at: scripted)
            #expect(result == .notFound)
        }
    }

    @Test("a user whose name has = is refused, for no tag of the hub may have it")
    func equalsSign() async throws {
        let request = RegisterRequest.upsert(try #require(RegistrationID("1-2-3")), try Self.upsert())
        try await ScriptedHub.with { scripted in
            guard case .refused(let reason)? = try await Self.register(request, by: "dXNlcg==", at: scripted) else {
                Issue.record("it was not refused")
                return
            }
            #expect(reason.contains("only tags of letters, digits and _ @ # . : -") && scripted.requests.isEmpty)
        }
    }

    @Test("a device whose id has retired gets another one, once")
    func retiredID() async throws {
        let request = RegisterRequest.create(candidate: .random(), try Self.upsert())
        let issued = RawServer.Reply.answer(201, [("Location", "https://h/shop/registrationids/4-5-6")])
        let (old, new) = (Self.shown("1-2-3", of: "ann"), Self.shown("4-5-6", of: "ann"))
        try await ScriptedHub.with(.feed([old]), .refusal(410), issued, Self.entry(new)) { scripted in
            let result = try await Self.register(request, by: "ann", at: scripted)
            let id = try #require(RegistrationID("4-5-6"))
            #expect(result == .issued(id))
            #expect(scripted.requests.map(\.method) == ["GET", "PUT", "POST", "PUT"])
            #expect(scripted.requests[3].target.hasPrefix("/shop/registrations/4-5-6?"))
        }
        try await ScriptedHub.with(.feed([old]), .refusal(410), issued, .refusal(410)) { scripted in
            let result = try await Self.register(request, by: "ann", at: scripted)
            #expect(result == .gone)
        }
    }

    @Test("how long the hub asks to wait is passed on")
    func busy() async throws {
        let id = try #require(RegistrationID("1-2-3"))
        try await ScriptedHub.with(.refusal(429, "", [("Retry-After", "300")])) { scripted in
            let error = try #require(
                await #expect(throws: HubError.self) {
                    _ = try await Self.register(.upsert(id, try Self.upsert()), by: "ann", at: scripted)
                }
            )
            #expect(error.kind == .unavailable(after: .seconds(300)))
        }
    }

    // MARK: Removal of a user

    private static func removal() throws -> RegisterRequest {
        .removeUser(try UserName("ann", .folded), withAccount: false)
    }

    /// A page with registrations that nobody here can read.
    private static func unreadable(_ count: Int, next: String? = nil) -> RawServer.Reply {
        let entry = "<entry><content><XiaoRegistrationDescription/></content></entry>"
        let text = "<feed>\(String(repeating: entry, count: count))</feed>"
        return .xml(200, text, next.map { [("X-MS-ContinuationToken", $0)] } ?? [])
    }

    @Test("a user's registrations are deleted from all pages, and then there are none")
    func removalOfPages() async throws {
        let (first, second) = (Self.shown("1", of: "ann"), Self.shown("2", of: "ann"))
        let pages: [RawServer.Reply] = [.feed([first], next: "a"), .feed([], next: "b"), .feed([second])]
        try await ScriptedHub.with(pages[0], .answer(200), pages[1], pages[2], .refusal(404)) { scripted in
            let unfinished = try await Self.register(try Self.removal(), by: nil, at: scripted)
            #expect(unfinished == nil)
            let paths = scripted.requests.map { "\($0.method) \($0.target.split(separator: "?")[0])" }
            let list = "GET /shop/tags/username%3Aann/registrations"
            let deletions = ["DELETE /shop/registrations/1", "DELETE /shop/registrations/2"]
            #expect(paths == [list, deletions[0], list, list, deletions[1]])
            scripted.answer(.feed([]))
            let finished = try await Self.register(try Self.removal(), by: nil, at: scripted)
            #expect(finished == .done)
        }
    }

    @Test("a user is not removed while the hub has registrations that cannot be read")
    func removalOfUnreadable() async throws {
        try await ScriptedHub.with(Self.unreadable(2, next: "a"), Self.unreadable(1)) { scripted in
            guard case .refused(let reason)? = try await Self.register(try Self.removal(), by: nil, at: scripted) else {
                Issue.record("it was not refused")
                return
            }
            #expect(reason.contains("3 or more registrations of the user"))
        }
    }

    // MARK: What became of sends

    private static func telemetry(_ outcomes: [(name: String, count: Int)]) -> RawServer.Reply {
        let counts = outcomes.map { "<Outcome><Name>\($0.name)</Name><Count>\($0.count)</Count></Outcome>" }.joined()
        return .xml(
            200,
            "<NotificationDetails><State>Completed</State><ApnsOutcomeCounts>\(counts)</ApnsOutcomeCounts></NotificationDetails>"
        )
    }

    private static func report(of outcomes: [(name: String, count: Int)]) async throws -> HubReport {
        var found: HubReport?
        try await ScriptedHub.with(Self.telemetry(outcomes)) { scripted in
            let outcome = try await AzureAppHub(hub: scripted.hub).outcome(of: "1", app: .default)
            if case .known(let report) = outcome { found = report }
        }
        return try #require(found)
    }

    @Test("of many words, and of long ones, the sum is kept")
    func boundedTelemetry() async throws {
        let long = String(repeating: "x", count: 65)
        let words = (1...100).map { (name: "Word\($0)", count: 1) }
        let devices = try await Self.report(of: [(long, 5)] + words + [("Word1", 2), ("", 3)]).devices
        #expect(devices.count <= 65)
        #expect(devices.keys.allSatisfy { $0.utf8.count <= 64 })
        #expect(devices["Word1"] == 3)
        #expect(devices.values.reduce(0, +) == 110)
        #expect((devices["other"] ?? 0) >= 5 + 36)
    }

    @Test("the usual words stay as they are")
    func usualTelemetry() async throws {
        let report = try await Self.report(of: [("Success", 2), ("ExpiredChannel", 1)])
        var expected = HubReport(state: .completed, devices: ["Success": 2, "ExpiredChannel": 1])
        expected.counts = [.apns: ["Success": 2, "ExpiredChannel": 1]]
        #expect(report == expected)
    }

    // MARK: Sends

    @Test("the hub's form of a send has its audience, its headers and its time")
    func forms() async throws {
        let payload = NativePayload(
            kind: try #require(PushService.apns.descriptor.kinds.first),
            headers: [.init("apns-push-type", "alert")],
            body: Array("{}".utf8)
        )
        let handles = (1...2).map { Handle(stored: String(repeating: "\($0)", count: 64)) }
        func list(_ handles: [Handle]) -> HubSend.Audience {
            let devices = handles.enumerated().map {
                Recipient(place: $0.offset + 1, pns: .apns, handle: $0.element, reference: nil)
            }
            return .list(RecipientList(handles: devices))
        }
        let created = RawServer.Reply.answer(201, [("Location", "https://h/shop/messages/n-1?api-version=1")], body: [])
        let news = HubSend.Audience.expression(.tag(try Tag("news", .folded)))
        for (audience, path, header) in [
            (HubSend.Audience.everyone, "/shop/messages?", ""), (news, "/shop/messages?", "news"),
            (list([handles[0]]), "/shop/messages?direct", handles[0].text),
            (list(handles), "/shop/messages/$batch?direct", ""),
        ] {
            try await ScriptedHub.with(created) { scripted in
                let send = HubSend(app: .default, .native(payload), to: audience, trackingID: "abc")
                #expect(try await AzureAppHub(hub: scripted.hub).take(send) == "n-1")
                let request = try scripted.request
                #expect(request.target.hasPrefix(path))
                #expect(request.headers.first(name: "apns-push-type") == "alert")
                #expect(request.headers.first(name: "TrackingId") == "abc")
                let named =
                    request.headers.first(name: WireNames.tags) ?? request.headers.first(name: WireNames.deviceHandle)
                #expect(named ?? "" == header)
            }
        }
        try await ScriptedHub.with(created) { scripted in
            var send = HubSend(app: .default, .template(.init(["title": "t"])), to: news)
            send.startsAt = ScriptedHub.start.advanced(by: .seconds(3600))
            _ = try await AzureAppHub(hub: scripted.hub).take(send)
            let request = try scripted.request
            #expect(request.target.hasPrefix("/shop/schedulednotifications?"))
            #expect(request.headers.first(name: WireNames.format) == "template")
            #expect(String(decoding: request.body, as: UTF8.self) == #"{"title":"t"}"#)
        }
    }
}
