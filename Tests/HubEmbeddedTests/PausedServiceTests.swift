import Broker
import Foundation
import Hub
import Logging
import PushModel
import Store
import StoreSQLite
import Testing

@testable import HubEmbedded

/// A service whose queue is paused holds up no other: not even for as long as a full window is waited for.
@Suite struct PausedServiceTests {
    @Test(arguments: [true, false])
    func aBundleDoesNotWaitForIt(isPaused: Bool) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try await SQLiteStore.open(.init(path: folder.appending(path: "store.sqlite").path))
        let user = try UserName("ann")
        let rows = [
            ImportedRegistration(pns: .apns, handle: Handle(stored: String(repeating: "a", count: 64)), user: user),
            ImportedRegistration(pns: .fcm, handle: Handle(stored: "anns-device-token-of-fcm"), user: user),
        ]
        _ = try await store.importRegistrations(rows, app: .default, sequence: 1)
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        let hub = EmbeddedHub(store: store, broker: broker, logger: Logger(label: "test"))
        if isPaused { try await store.pause(.deliver(.apns), app: .default, by: "test") }
        let send = SendRequest(audience: .tag(Tag(user: user)), content: .message(.init(title: "t", body: "b")))
        let accepted = try await store.accept(
            together: [NewJob(app: .default, work: .send(send), lifetime: .seconds(600))]
        )
        let bundle = try #require(accepted.bundles.first)
        let look = try await store.look(at: bundle.id, devices: SmallSend.devices)
        let claim = try #require(look)
        #expect(claim.glimpse?.rooms[.apns]?.isPaused == isPaused)
        #expect(claim.glimpse?.rooms[.fcm]?.isPaused == false)
        guard case .done = try await hub.advance(claim, spec: AppSpec(), budget: .zero) else {
            Issue.record("it waits")
            return
        }
        // It goes the ordinary way, where each service waits by itself.
        if isPaused { #expect(try await store.dueJobs(overdue: .zero, limit: 5).count == 1) }
    }
}
