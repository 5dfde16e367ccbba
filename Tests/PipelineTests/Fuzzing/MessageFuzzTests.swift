import Broker
import Foundation
import Logging
import Payloads
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import BrokerRabbitMQ
@testable import Pipeline

/// Every queue's messages, with their headers, as nobody of ours writes them: none ends a process.
///
/// `deploy/fuzz` sets `PUSHLINE_FUZZ_SEED`, `PUSHLINE_FUZZ_EXAMPLES` and `PUSHLINE_FUZZ_LAST`, a folder for the last message, which tells of
/// a crash.
@Suite("Messages that are none of ours", .timeLimit(.minutes(60)), .undisturbed)
struct MessageFuzzTests {
    private static func setting(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    private static let seed = Self.setting("PUSHLINE_FUZZ_SEED") ?? 1

    /// One of each queue, of the dead letters and of the events.
    private static func ours() throws -> [(queue: String, pns: PushService?, message: OutgoingMessage)] {
        var found: [(queue: String, pns: PushService?, message: OutgoingMessage)] = []
        for queue in [WorkQueue.register, .send] {
            let row = OutboxMessage(id: MessageID(number: 7), app: .default, queue: queue, priority: .normal)
            found.append((QueueName.work(queue, .normal), nil, OutgoingMessage(hint: row)))
        }
        for pns in PushService.inService {
            let row = OutboxMessage(id: MessageID(number: 8), app: .default, queue: .deliver(pns), priority: .high)
            var batches: [DeliverBatch] = []
            for number in 0..<3 { batches.append(try Self.batch(of: pns, number)) }
            let message = OutgoingMessage(DeliveryMessage(batches: batches), as: row)
            found.append((QueueName.work(.deliver(pns), .high), pns, message))
        }
        let (_, _, last) = found[found.count - 1]
        let delivery = Delivery(tag: 1, generation: 1, properties: last.properties, body: last.body, deliveryCount: 0)
        let dead = OutgoingMessage(deadLetter: delivery, from: last.routingKey, reason: "redelivered 6 times")
        found.append((QueueName.dead, nil, dead))
        found.append((QueueName.events, nil, OutgoingMessage(eventFor: .make(), waiter: QueueName.newEventQueue())))
        return found
    }

    private static func batch(of pns: PushService, _ number: Int) throws -> DeliverBatch {
        var devices = DeliverBatch.Devices()
        for index in 0...number {
            devices.rows.append(Int64(index + 1))
            devices.handles.append(token(index).utf8)
            devices.tries.append(UInt8(index))
            devices.waits.append(UInt32(index * 1000))
            devices.credentials.append(try CredentialName(index == 0 ? "other" : "default"), at: index)
        }
        return DeliverBatch(
            app: .default,
            key: BatchKey(job: .make(), pns: pns, page: number, attempt: number),
            priority: .high,
            expires: .now.advanced(by: .seconds(3600)),
            keepUntil: .now.advanced(by: .seconds(60)),
            collapse: "c",
            payload: NativePayload(
                kind: try #require(pns.descriptor.kinds.first),
                headers: [.init("apns-expiration", "0")],
                body: Array(#"{"aps":{"alert":"a"}}"#.utf8)
            ),
            devices: devices
        )
    }

    @Test("Nothing that is read of a message ends who reads it") func reading() async throws {
        let ours = try Self.ours()
        let count = Self.setting("PUSHLINE_FUZZ_EXAMPLES") ?? 5000
        // The library decodes tables in one another by recursion, on a stack that is made for it.
        let (read, faults) = await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: Self.read(ours, count: Int(count))) }
            thread.stackSize = FrameSize.stackForDecoding
            thread.start()
        }
        #expect(faults.isEmpty, "\(faults.prefix(3))")
        #expect(read > count / 2, "mutations of which nothing is read prove nothing")
        print("messages: \(count) of seed \(Self.seed), \(read) were read")
    }

    private static func read(
        _ ours: [(queue: String, pns: PushService?, message: OutgoingMessage)],
        count: Int
    ) -> (read: UInt64, faults: [String]) {
        let last = ProcessInfo.processInfo.environment["PUSHLINE_FUZZ_LAST"].map { URL(filePath: $0) }
        var mutator = MessageMutator(seed: Self.seed)
        var (read, faults) = (UInt64(0), [String]())
        for number in 0..<count {
            let (queue, pns, message) = mutator.pick(ours)
            var wire = WireMessage(message)
            mutator.mutate(&wire)
            let properties = mutator.properties(of: wire)
            if let last {
                do { try Data(properties + wire.body).write(to: last.appending(path: "message")) } catch {
                    faults.append("\(error)")
                }
            }
            guard let delivery = wire.delivery(properties) else { continue }
            read += 1
            if let fault = Self.read(delivery, from: queue, of: pns) { faults.append("message \(number): \(fault)") }
        }
        return (read, faults)
    }

    /// What consumers and workers read, before the store and the push services have a say.
    ///
    /// - Returns: What does not hold.
    private static func read(_ delivery: Delivery, from queue: String, of pns: PushService?) -> String? {
        let configuration = DeliveryWorker.Configuration()
        _ = MessageID(delivery.properties.messageID)
        _ = JobID(delivery.properties.messageID)
        _ = delivery.app
        _ = IncomingDeadLetter(delivery)
        _ = OutgoingMessage(deadLetter: delivery, from: queue, reason: delivery.firstDeathQueue ?? "")
        guard let pns else { return nil }
        guard configuration.cost(of: delivery, at: pns) > 0 else { return "it costs nothing" }
        guard let message = try? DeliveryMessage(decoding: delivery.body) else { return nil }
        // Whoever publishes it anew, and whoever sends it.
        guard (try? DeliveryMessage(decoding: message.encoded())) == message else { return "it is read as another" }
        for batch in message.batches {
            let headers = PushHeaders(
                batch.payload,
                priority: batch.priority,
                keepUntil: batch.keepUntil,
                collapse: batch.collapse
            )
            _ = (headers.web(), headers.wns(), headers.apns(topic: "a"), batch.key.description, batch.isLate(at: .now))
            _ = (batch.devices.named, batch.keepUntil?.seconds, batch.expires.iso8601)
            for (index, row) in batch.devices.rows.enumerated() {
                _ = (
                    batch.devices.handles.handle(at: index), Recipient.place(of: row),
                    batch.key.job.notificationID(row: row)
                )
            }
        }
        for share in DeliveryShare.divide(message.batches) {
            var sending = DeliveryProgress(message.batches, share: share, recording: .all, retry: configuration.retry)
            sending.begin { _ in nil }
            while !sending.isOver {
                for group in sending.take(atMost: 20) {
                    let results = [DeviceResult](
                        repeating: .retry(after: nil, scope: .sender, counts: true, reason: "r", status: 503),
                        count: sending.devices(of: group).count
                    )
                    let answers = DeliveryProgress.Answers(results: results, keepsTokens: false, isProbe: false)
                    sending.add(group, answers, goesOn: false) { _ in nil }
                }
            }
            _ = sending.outcomes.map(\.retries.count)
        }
        return nil
    }
}

extension PipelineLoadTests {
    /// The same, at workers that run.
    @Suite(.serialized, .timeLimit(.minutes(5)), .undisturbed) struct HostileMessageTests {
        /// Whatever is in a queue, the workers go on, and what is ours arrives.
        @Test func noMessageEndsAWorker() async throws {
            try await PipelineHarness.with { harness in
                try await harness.register("ann", .apns, token(1))
                var mutator = MessageMutator(seed: 2)
                let queues = PushService.inService.map(WorkQueue.deliver) + [.register, .send]
                for number in 0..<400 {
                    let queue = queues[number % queues.count]
                    let row = OutboxMessage(
                        id: MessageID(number: Int64(number + 1000)),
                        app: .default,
                        queue: queue,
                        priority: .normal
                    )
                    var wire = WireMessage(OutgoingMessage(hint: row))
                    mutator.mutate(&wire)
                    guard let delivery = wire.delivery(wire.properties) else { continue }
                    // One that names our send's row may give it up: whoever may publish may do that.
                    if let named = MessageID(delivery.properties.messageID), named.number < 1000 { continue }
                    let name = number % 10 == 0 ? QueueName.dead : QueueName.work(queue, .normal)
                    let message = OutgoingMessage(
                        routingKey: name,
                        properties: delivery.properties,
                        body: delivery.body
                    )
                    #expect(await harness.broker.publish([message], deadline: .seconds(1)) == [.published])
                }
                harness.broker.redeliver()
                let id = try await harness.send(to: "username:ann")
                let status = try await harness.wait(for: id)
                #expect(status.counts[.apns]?.accepted == 1, "\(status)")
                let names = queues.map { QueueName.work($0, .normal) } + [QueueName.dead]
                while names.contains(where: { harness.broker.ready(in: $0) + harness.broker.unacknowledged(in: $0) > 0 }
                ) {
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(try await harness.store.audit(after: 0, limit: 100).faults == [])
            }
        }

        /// Batches of rows that somebody else has written: whatever they say, each is sent or given up.
        @Test func noBatchEndsADeliveryWorker() async throws {
            try await withSimulator { simulator in
                let store = ScriptedOutbox()
                let spec = try simulator.appSpec
                store.with { ($0.spec, $0.isEverythingOpen) = (spec, true) }
                var batches = HostileBatches(seed: 3)
                var messages: [OutgoingMessage] = []
                for number in 0..<300 {
                    let pns = PushService.inService[number % PushService.inService.count]
                    let row = OutboxMessage(
                        id: MessageID(number: Int64(number + 1)),
                        app: .default,
                        queue: .deliver(pns),
                        priority: .normal
                    )
                    messages.append(OutgoingMessage(DeliveryMessage(batches: [batches.next(for: pns)]), as: row))
                }
                let broker = InMemoryBroker()
                try await broker.declare(.pushline)
                #expect(await broker.publish(messages, deadline: .seconds(1)).allSatisfy(\.isPublished))
                let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                let senders = SenderRegistry(settings: SenderSettings(), logger: logger)
                let apps = AppDirectory(store: store)
                let worker = DeliveryWorker(
                    senders: senders,
                    hubs: .none(apps: apps),
                    store: store,
                    apps: apps,
                    broker: broker,
                    logger: logger
                )
                let running = Task { try await worker.run() }
                let queues = PushService.inService.map { QueueName.work(.deliver($0), .normal) }
                while queues.contains(where: { broker.ready(in: $0) + broker.unacknowledged(in: $0) > 0 }) {
                    try await Task.sleep(for: .milliseconds(10))
                }
                running.cancel()
                _ = await running.result
                await senders.close()
                #expect(store.with { $0.outcomes.count + $0.deferrals.count } == messages.count)
            }
        }
    }
}
