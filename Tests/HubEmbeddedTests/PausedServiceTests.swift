import Broker
import Foundation
import Hub
import Logging
import PushModel
import Store
import StoreSQLite
import Testing

@testable import HubEmbedded

/// A service whose queue is paused holds up no other (rule 12).
@Suite struct PausedServiceTests {
    /// What a group has, and which of its sends wait with it.
    private func fanOut(
        users: [String],
        isPaused: Bool,
        _ check: (SQLiteStore, Advance, [JobID]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await SQLiteStore.open(.init(path: folder.appending(path: "store.sqlite").path))
        let (apple, both) = (try UserName("apple"), try UserName("both"))
        let token = String(repeating: "a", count: 64)
        let rows = [
            ImportedRegistration(pns: .apns, handle: Handle(stored: token), user: apple),
            ImportedRegistration(pns: .apns, handle: Handle(stored: token.replacing("a", with: "b")), user: both),
            ImportedRegistration(pns: .fcm, handle: Handle(stored: "a-device-token-of-fcm"), user: both),
            ImportedRegistration(
                pns: .fcm,
                handle: Handle(stored: "another-token-of-fcm"),
                user: try UserName("droid")
            ),
        ]
        _ = try await store.importRegistrations(rows, app: .default, sequence: 1)
        _ = try await store.apply(Self.spec, to: .default)
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        let hub = EmbeddedHub(store: store, broker: broker, logger: Logger(label: "test"))
        if isPaused { try await store.pause(.deliver(.apns), app: .default, by: "test") }
        let sends = try users.map { user in
            let content = Content.message(.init(title: "t", body: "b"))
            let request = SendRequest(audience: .tag(Tag(user: try UserName(user))), content: content)
            return NewJob(app: .default, work: .send(request), lifetime: .seconds(600), waiter: "api")
        }
        let accepted = try await store.accept(sends)
        let message = try #require(accepted.messages.first)
        let claim = try #require(try await store.peek(message.id))
        try await check(store, hub.advance(claim, spec: Self.spec, budget: .seconds(5)), sends.map(\.id))
    }

    private static var spec: AppSpec {
        var spec = AppSpec()
        spec.fcm = .init(serviceAccountFile: "fcm.json")
        spec.apns = .init(keyFile: "apns.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topic: "com.example.app")
        return spec
    }

    @Test func aGroupGoesOutInOneStep() async throws {
        try await self.fanOut(users: ["apple", "droid", "both", "nobody"], isPaused: false) { store, advance, ids in
            guard case .done = advance.progress else {
                Issue.record("it waits")
                return
            }
            #expect(advance.answered.map(\.job) == ids)
            #expect(advance.hasCommitted)
        }
    }

    @Test func whatGoesToThePausedServiceAloneWaits() async throws {
        try await self.fanOut(users: ["apple", "droid", "nobody", "apple"], isPaused: true) { store, advance, ids in
            guard case .blocked(let claim, on: let services, after: let pause) = advance.progress else {
                Issue.record("it does not wait")
                return
            }
            #expect(services == [.apns])
            #expect(pause > .zero)
            #expect(claim.isHeld && claim.position == 0 && claim.blocked.isEmpty)
            #expect(advance.answered.map(\.job) == [ids[1], ids[2]])
            // It waits for credit alone, and there is none.
            let deferral = Deferral(blockedOn: services)
            #expect(try await store.defer(claim.message.id, epoch: claim.message.epoch, deferral))
            #expect(try await store.takeDue([.send], overdue: .zero, limit: 5).isEmpty)
        }
    }

    @Test func whatAlsoGoesToAnotherServiceGoesAlone() async throws {
        try await self.fanOut(users: ["both", "droid"], isPaused: true) { store, advance, ids in
            guard case .done = advance.progress else {
                Issue.record("it waits")
                return
            }
            #expect(advance.answered.map(\.job) == [ids[1]])
        }
    }
}
