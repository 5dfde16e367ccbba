import Broker
import Foundation
import Hub
import Logging
import PushModel
import Store
import StoreSQLite
import Testing
import Undisturbed

@testable import Pipeline

/// How far a fan-out comes, and what is published of it.
@Suite(.undisturbed) struct FanOutTests {
    private struct Unexpected: Error {}

    /// Takes a group of sends to users as far as it goes.
    private func fanOut(
        users: [String],
        isPaused: Bool = false,
        broker given: InMemoryBroker? = nil,
        _ check: (any ResultStore, Advance, [JobID]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store: any ResultStore = try await SQLiteStore.open(
            .init(path: folder.appending(path: "store.sqlite").path)
        )
        let (apple, both) = (try UserName("apple", .folded), try UserName("both", .folded))
        let token = String(repeating: "a", count: 64)
        let rows = [
            ImportedRegistration(pns: .apns, handle: Handle(stored: token), user: apple),
            ImportedRegistration(pns: .apns, handle: Handle(stored: token.replacing("a", with: "b")), user: both),
            ImportedRegistration(pns: .fcm, handle: Handle(stored: "a-device-token-of-fcm"), user: both),
            ImportedRegistration(
                pns: .fcm,
                handle: Handle(stored: "another-token-of-fcm"),
                user: try UserName("droid", .folded)
            ),
        ]
        _ = try await store.importRegistrations(rows, app: .default, sequence: 1, lifetime: nil)
        _ = try await store.apply(.app(.default, AppSpec.apnsAndFCM))
        let broker = given ?? InMemoryBroker()
        if given == nil { try await broker.declare(.pushline) }
        let fanOut = EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test"))
        if isPaused { try await store.apply(.pause(.begin(.deliver(.apns), app: .default, by: "test"))) }
        let sends = try users.map { user in
            let content = Content.message(.init(title: "t", body: "b"))
            let request = SendRequest(audience: .tag(Tag(user: try UserName(user, .folded))), content: content)
            return NewJob(app: .default, work: .send(request), lifetime: .seconds(600), waiter: "api")
        }
        let accepted = try await store.accept(sends)
        let message = try #require(accepted.messages.first)
        let claim = try #require(try await store.claim(message.id, peeking: true))
        try await check(store, fanOut.advance(claim, spec: .apnsAndFCM, budget: .seconds(60)), sends.map(\.id))
    }

    @Test func aGroupIsFannedOutInOneStep() async throws {
        try await self.fanOut(users: ["apple", "droid", "both", "nobody"], isPaused: false) { store, advance, ids in
            guard case .done = advance.progress else { throw Unexpected() }
            #expect(advance.answered.map(\.job) == ids)
            #expect(advance.hasCommitted)
        }
    }

    @Test func sendsOnlyToAPausedServiceWait() async throws {
        try await self.fanOut(users: ["apple", "droid", "nobody", "apple"], isPaused: true) { store, advance, ids in
            guard case .blocked(let claim, on: let services, after: let pause) = advance.progress else {
                throw Unexpected()
            }
            #expect(services == [.apns])
            #expect(pause > .zero)
            #expect(claim.isClaimed && claim.position == 0 && claim.blocked.isEmpty)
            #expect(advance.answered.map(\.job) == [ids[1], ids[2]])
            // It waits for credit alone, and there is none.
            let deferral = Deferral(blockedOn: services)
            let isDeferred = try await store.defer(claim.message.id, epoch: claim.message.epoch, deferral)
            #expect(isDeferred)
            let due = try await store.takeDue([.send], overdue: .zero, limit: 5)
            #expect(due.isEmpty)
        }
    }

    @Test func aSendToAPausedAndAnotherServiceLeavesItsGroup() async throws {
        try await self.fanOut(users: ["both", "droid"], isPaused: true) { store, advance, ids in
            guard case .done = advance.progress else { throw Unexpected() }
            #expect(advance.answered.map(\.job) == [ids[1]])
        }
    }

    /// The batches that are at the broker.
    private func batches(at broker: InMemoryBroker, _ pns: PushService) async throws -> [DeliverBatch] {
        let queue = QueueName.work(.deliver(pns), .normal)
        guard try await broker.depth(of: queue).ready > 0 else { return [] }
        let body = try await broker.consume(queue: queue, prefetch: 1) { try await $0.next()?.body }
        return try DeliveryMessage(decoding: try #require(body as [UInt8]?)).batches
    }

    /// What is due once the pause after a refusal of the broker's is over.
    private func due(_ queues: Set<WorkQueue>, _ count: Int, in store: any ResultStore) async throws -> [OutboxMessage]
    {
        var due: [OutboxMessage] = []
        for _ in 0..<500 where due.count < count {
            due += try await store.takeDue(queues, overdue: .seconds(1), limit: 5)
            if due.count < count { try await Task.sleep(for: .milliseconds(20)) }
        }
        return due
    }

    @Test func aMessageTheBrokerDidNotTakeIsPublishedAgain() async throws {
        // It has no queues yet.
        let broker = InMemoryBroker()
        try await self.fanOut(users: ["apple", "droid", "apple"], broker: broker) { store, advance, ids in
            guard case .done = advance.progress else { throw Unexpected() }
            try await broker.declare(.pushline)
            let fanOut = EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test"))
            let queues: Set<WorkQueue> = [.deliver(.apns), .deliver(.fcm)]
            let due = try await self.due(queues, 2, in: store)
            #expect(due.count == 2)
            try await fanOut.resume(due, specs: [.default: AppSpec.apnsAndFCM])
            let apple = try await self.batches(at: broker, .apns)
            #expect(apple.map(\.key.job) == [ids[0], ids[2]])
            #expect(apple.map(\.devices.count) == [1, 1])
            let droid = try await self.batches(at: broker, .fcm)
            #expect(droid.map(\.key.job) == [ids[1]])
        }
    }

    @Test func aBatchWithoutCredentialsIsClosedInsteadOfRepublished() async throws {
        let broker = InMemoryBroker()
        try await self.fanOut(users: ["apple", "apple"], broker: broker) { store, _, ids in
            try await broker.declare(.pushline)
            let fanOut = EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test"))
            let due = try await self.due([.deliver(.apns)], 1, in: store)
            // The credentials are gone meanwhile.
            try await fanOut.resume(due, specs: [:])
            let published = try await self.batches(at: broker, .apns)
            #expect(published.isEmpty)
            for id in ids {
                let job = try await store.job(id, app: .default)
                #expect(job?.state == .completed)
                #expect(job?.counts[.apns]?.failed == [.misconfigured: 1])
            }
        }
    }

    /// What is published again has its lease before it, however much of it is not settled.
    @Test func aMessageWhoseBatchesCannotBeSettledIsNotPublished() async throws {
        let broker = InMemoryBroker()
        try await self.fanOut(users: ["apple", "both"], broker: broker) { store, _, ids in
            try await broker.declare(.pushline)
            let query = RegistrationQuery(app: .default, user: try UserName("apple", .folded))
            let registration = try #require(try await store.registrations(query).items.first)
            _ = try await store.register(.delete(registration.id), of: RegisterJob(app: .default, sequence: 2))
            let fanOut = EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test"))
            let due = try await self.due([.deliver(.apns)], 1, in: store)
            #expect(due.count == 1)
            // Another process does not let go of the store.
            let path = try #require(store as? SQLiteStore).configuration.path + ".writer"
            let writer = try #require(FileHandle(forUpdatingAtPath: path))
            #expect(flock(writer.fileDescriptor, LOCK_EX) == 0)
            try await fanOut.resume(due, specs: [.default: AppSpec.apnsAndFCM])
            let none = try await self.batches(at: broker, .apns)
            #expect(none.isEmpty)
            try writer.close()
            try await fanOut.resume(due, specs: [.default: AppSpec.apnsAndFCM])
            let published = try await self.batches(at: broker, .apns)
            #expect(published.map(\.key.job) == [ids[1]])
            #expect(try await store.job(ids[0], app: .default)?.state == .completed)
        }
    }

    @Test func aSendAloneIsFannedOutServiceByService() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        try await self.fanOut(users: ["both", "both"], isPaused: true, broker: broker) { store, advance, ids in
            // Both are alone now, and their messages at the broker.
            guard case .done = advance.progress else { throw Unexpected() }
            #expect(advance.answered.isEmpty)
            let queue = QueueName.work(.send, .normal)
            let id = try await broker.consume(queue: queue, prefetch: 1) { try await $0.next()?.properties.messageID }
            let message = try #require(id.flatMap { $0 }.flatMap { MessageID($0) })
            let claim = try #require(try await store.claim(message, peeking: true))
            let fanOut = EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test"))
            let alone = try await fanOut.advance(claim, spec: .apnsAndFCM, budget: .seconds(60))
            guard case .blocked(let next, on: let services, after: _) = alone.progress else {
                throw Unexpected()
            }
            #expect(services == [.apns])
            #expect(next.isClaimed)
            #expect(alone.answered.map(\.job) == [ids[0]])
            let published = try await self.batches(at: broker, .fcm)
            #expect(published.map(\.key.job) == [ids[0]])
            // Who waits is told once.
            let resumed = try await store.apply(.pause(.end(.deliver(.apns), app: .default)))
            #expect(resumed)
            let last = try await fanOut.advance(next, spec: .apnsAndFCM, budget: .seconds(60))
            guard case .done = last.progress else { throw Unexpected() }
            #expect(last.answered.isEmpty)
        }
    }
}

extension AppSpec {
    /// An app with credentials at APNs and FCM.
    static var apnsAndFCM: AppSpec {
        var spec = AppSpec()
        spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "fcm.json" }
        spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "apns.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ"))
            $0.topic = "com.example.app"
        }
        return spec
    }
}
