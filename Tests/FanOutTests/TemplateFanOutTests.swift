import Broker
import Foundation
import Hub
import Logging
import PushModel
import Store
import StoreSQLite
import Testing

@testable import Pipeline

@Suite("A send to templates")
struct TemplateFanOutTests {
    private static let spec: AppSpec = {
        var spec = AppSpec()
        spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "apns.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ"))
            $0.topic = "com.example.app"
        }
        spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "fcm.json" }
        return spec
    }()

    /// A store with devices in two languages and one that has both, and a hub.
    private func run(_ body: (any ResultStore, InMemoryBroker, EmbeddedFanOut) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store: any ResultStore = try await SQLiteStore.open(
            .init(path: folder.appending(path: "store.sqlite").path)
        )
        _ = try await store.apply(.app(.default, Self.spec))
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        try await body(store, broker, EmbeddedFanOut(store: store, broker: broker, logger: Logger(label: "test")))
    }

    private func register(
        _ store: any ResultStore,
        _ device: Int,
        _ name: String,
        body: String,
        pns: PushService = .apns,
        platform: String? = nil
    ) async throws {
        let handle = String(repeating: "0", count: 60) + String(format: "%04x", device)
        let upsert = RegisterRequest.Upsert(
            pns: pns,
            handle: Handle(stored: handle),
            tags: [try Tag("news", .folded)],
            onBehalf: .init(of: nil),
            template: DeviceTemplate(name: name, content: .init(body: body, platform: platform))
        )
        let job = NewJob(
            app: .default,
            work: .register(.upsert(try #require(RegistrationID("\(device)-\(name)")), upsert)),
            lifetime: .seconds(600)
        )
        guard case .accepted(let accepted)? = try await store.accept([job]).answers.first else {
            throw InvalidValue("not accepted")
        }
        let result = try await store.register(
            .upsert(try #require(RegistrationID("\(device)-\(name)")), upsert),
            of: RegisterJob(app: .default, sequence: accepted.sequence)
        )
        #expect(result == .done)
    }

    private func body(_ language: String) -> String { ##"{"aps":{"alert":"$(\##(language))"}}"## }

    /// The batches that are at the broker.
    private func batches(at broker: InMemoryBroker, of pns: PushService = .apns) async throws -> [DeliverBatch] {
        let queue = QueueName.work(.deliver(pns), .normal)
        let count = try await broker.depth(of: queue).ready
        guard count > 0 else { return [] }
        return try await broker.consume(queue: queue, prefetch: count) { subscription in
            var batches: [DeliverBatch] = []
            for _ in 0..<count {
                guard let delivery = try await subscription.next() else { break }
                batches += try DeliveryMessage(decoding: delivery.body).batches
                await subscription.acknowledge([delivery])
            }
            return batches
        }
    }

    private func send(_ store: any ResultStore, _ values: [String: String]) async throws -> MessageID {
        let request = SendRequest(
            audience: .tag(try Tag("news", .folded)),
            content: .template(.init(values))
        )
        let accepted = try await store.accept([NewJob(app: .default, work: .send(request), lifetime: .seconds(600))])
        return try #require(accepted.messages.first).id
    }

    @Test("Each template is a batch of its devices, filled once; a device with two is in both")
    func languages() async throws {
        try await self.run { store, broker, fanOut in
            for device in 0..<30 {
                try await self.register(store, device, "t", body: self.body(device.isMultiple(of: 2) ? "en" : "de"))
            }
            try await self.register(store, 0, "u", body: self.body("de"))
            let message = try await self.send(store, ["en": "Hello", "de": "Hallo \"]}"])
            let claim = try #require(try await store.claim(message, peeking: false))
            guard case .done = try await fanOut.advance(claim, spec: Self.spec, budget: .seconds(60)).progress else {
                throw InvalidValue("not done")
            }
            let batches = try await self.batches(at: broker)
            #expect(
                batches.map { String(decoding: $0.payload.body, as: UTF8.self) }.sorted() == [
                    #"{"aps":{"alert":"Hallo \"]}"}}"#, #"{"aps":{"alert":"Hello"}}"#,
                ]
            )
            #expect(batches.map(\.devices.count).sorted() == [15, 16])
            #expect(Set(batches.flatMap(\.devices.rows)).count == 31)
            #expect(Set(batches.map(\.key.page)) == [0, 1])
        }
    }

    @Test("A message that got lost is made anew with the same devices and the same words")
    func republished() async throws {
        try await self.run { store, broker, fanOut in
            for device in 0..<6 {
                try await self.register(store, device, "t", body: self.body(device < 2 ? "en" : "de"))
            }
            let message = try await self.send(store, ["en": "Hello", "de": "Hallo"])
            let claim = try #require(try await store.claim(message, peeking: false))
            _ = try await fanOut.advance(claim, spec: Self.spec, budget: .seconds(60))
            let first = try await self.batches(at: broker)
            #expect(first.count == 2)
            // Nobody recorded anything: what was published is due again, and read from the store.
            var again: [DeliverBatch] = []
            for row in 1...20 {
                let due = try await store.batches(of: MessageID(number: Int64(row)))
                guard !due.isEmpty else { continue }
                let outgoing = OutboxMessage(
                    id: MessageID(number: Int64(row)),
                    app: .default,
                    queue: .deliver(.apns),
                    priority: .normal
                )
                try await fanOut.resume([outgoing], specs: [.default: Self.spec])
                again += try await self.batches(at: broker)
            }
            #expect(again.map(\.key.page).sorted() == first.map(\.key.page).sorted())
            for batch in first {
                let copy = try #require(again.first { $0.key == batch.key })
                #expect(copy.devices == batch.devices && copy.payload == batch.payload)
            }
        }
    }

    @Test("A template that makes nothing its service takes counts its devices as rejected, and the others get theirs")
    func broken() async throws {
        try await self.run { store, broker, fanOut in
            try await self.register(store, 1, "t", body: self.body("en"))
            try await self.register(store, 2, "t", body: ##"{"aps":"$(en)"}"##)
            let message = try await self.send(store, ["en": "Hello"])
            let claim = try #require(try await store.claim(message, peeking: false))
            _ = try await fanOut.advance(claim, spec: Self.spec, budget: .seconds(60))
            #expect(try await self.batches(at: broker).map(\.devices.count) == [1])
            let jobs = try await store.jobs(JobQuery(app: .default, kind: .send)).items
            #expect(jobs.first?.counts[.apns]?.failed == [.rejected: 1])
        }
    }

    @Test("Devices whose template was registered for the platform gcm are counted apart, in each attempt")
    func platforms() async throws {
        try await self.run { store, broker, fanOut in
            let body = ##"{"data":{"a":"$(en)"}}"##
            for device in 0..<3 { try await self.register(store, device, "t", body: body, pns: .fcm, platform: "gcm") }
            for device in 3..<5 { try await self.register(store, device, "t", body: body, pns: .fcm) }
            let message = try await self.send(store, ["en": "Hello"])
            let claim = try #require(try await store.claim(message, peeking: false))
            _ = try await fanOut.advance(claim, spec: Self.spec, budget: .seconds(60))
            let batches = try await self.batches(at: broker, of: .fcm)
            #expect(batches.map(\.devices.count).sorted() == [2, 3])
            for batch in batches {
                let row = try #require(batch.devices.rows.first)
                let retry = RetryDevice(row: row, tries: 1, wait: .zero)
                let first = BatchOutcome(
                    key: batch.key,
                    accepted: batch.devices.count - 1,
                    retries: [retry],
                    at: .now
                )
                #expect(try await store.record([first]) == [true])
                let key = BatchKey(job: batch.key.job, pns: .fcm, page: batch.key.page, attempt: 1)
                var next = BatchOutcome(key: key, at: .now)
                next.failures = [DeviceFailure(row: row, failure: .unregistered, status: 404, reason: "UNREGISTERED")]
                #expect(try await store.record([next]) == [true])
            }
            let job = try #require(try await store.jobs(JobQuery(app: .default, kind: .send)).items.first)
            let all = try #require(job.counts[.fcm])
            #expect(all.targets == 5 && all.accepted == 3 && all.failed == [.unregistered: 2])
            let own = try #require(job.platformCounts["gcm"])
            #expect(own.targets == 3 && own.accepted == 2 && own.failed == [.unregistered: 1])
            #expect(job.platformCounts.count == 1)
        }
    }

    @Test("Many templates go in several steps, each device once")
    func many() async throws {
        try await self.run { store, broker, fanOut in
            for device in 0..<230 { try await self.register(store, device, "t", body: self.body("p\(device)")) }
            let message = try await self.send(store, ["p7": "seven"])
            let claim = try #require(try await store.claim(message, peeking: false))
            guard case .done = try await fanOut.advance(claim, spec: Self.spec, budget: .seconds(60)).progress else {
                throw InvalidValue("not done")
            }
            let batches = try await self.batches(at: broker)
            #expect(batches.count == 230 && Set(batches.flatMap(\.devices.rows)).count == 230)
            #expect(Set(batches.map(\.key.page)).count == 230)
        }
    }
}
