import Broker
import Logging
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// What a delivery worker does with a message, by what the store says of it (rules 3, 5 and 6).
    @Suite(.serialized, .timeLimit(.minutes(5)), .undisturbed) struct DeliveryWorkerTests {
        private static let queue = QueueName.work(.deliver(.apns), .normal)

        /// A worker's surroundings.
        private struct Site: Sendable {
            let store: ScriptedOutbox
            let broker: InMemoryBroker
            let simulator: Simulator

            /// Publishes a message of these batches, which are open in it unless it is said otherwise.
            func publish(
                _ number: Int64,
                _ batches: [DeliverBatch],
                isOpen: Bool = true,
                headers: [String: String] = [:]
            ) async {
                let id = MessageID(number: number)
                if isOpen { self.store.with { $0.open[id] = batches.map(\.key) } }
                let row = OutboxMessage(id: id, app: .default, queue: .deliver(.apns), priority: .normal)
                var message = OutgoingMessage(DeliveryMessage(batches: batches), as: row)
                message.properties.headers.merge(headers) { $1 }
                #expect(await self.broker.publish([message], deadline: .seconds(1)) == [.published])
            }

            /// Has all that is in the queue come again so many times.
            func lose(_ count: Int, times: Int) async throws {
                for _ in 0..<times {
                    try await self.broker.consume(queue: DeliveryWorkerTests.queue, prefetch: count) { subscription in
                        for _ in 0..<count { _ = try await subscription.next() }
                    }
                }
            }

            /// Runs a worker until its queue is empty.
            func work(_ configuration: DeliveryWorker.Configuration = .init(), beside: () async throws -> Void = {})
                async throws
            {
                let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
                let senders = SenderRegistry(settings: SenderSettings(), logger: logger)
                let worker = DeliveryWorker(
                    senders: senders,
                    hubs: .none(apps: AppDirectory(store: self.store)),
                    store: self.store,
                    apps: AppDirectory(store: self.store),
                    broker: self.broker,
                    configuration: configuration,
                    logger: logger
                )
                let running = Task { try await worker.run() }
                try await beside()
                let queue = DeliveryWorkerTests.queue
                while self.broker.ready(in: queue) + self.broker.unacknowledged(in: queue) > 0 {
                    try await Task.sleep(for: .milliseconds(10))
                }
                running.cancel()
                _ = await running.result
                await senders.close()
            }

            /// The message-ids and reasons of the dead.
            func dead() async throws -> [(id: String, reason: String)] {
                let count = self.broker.ready(in: QueueName.dead)
                return try await self.broker.consume(queue: QueueName.dead, prefetch: max(1, count)) { subscription in
                    var dead: [(id: String, reason: String)] = []
                    for _ in 0..<count {
                        guard let delivery = try await subscription.next() else { break }
                        let properties = delivery.properties
                        dead.append(
                            (properties.messageID, properties.headers[MessageProperties.reasonHeader] ?? "")
                        )
                        await subscription.acknowledge([delivery])
                    }
                    return dead
                }
            }
        }

        private static func with(_ body: @Sendable (Site) async throws -> Void) async throws {
            try await withSimulator { simulator in
                let site = Site(store: ScriptedOutbox(), broker: InMemoryBroker(), simulator: simulator)
                try await site.broker.declare(.pushline)
                let spec = try simulator.appSpec
                site.store.with { $0.spec = spec }
                try await body(site)
            }
        }

        /// A batch of one device of that number.
        private static func batch(_ number: Int, isDryRun: Bool = false) -> DeliverBatch {
            var devices = DeliverBatch.Devices()
            devices.rows = [Int64(number)]
            let digits = String(number, radix: 16)
            devices.handles.append((String(repeating: "0", count: 64 - digits.count) + digits).utf8)
            return DeliverBatch(
                app: .default,
                key: BatchKey(job: .make(), pns: .apns, page: 0, attempt: 0),
                priority: .normal,
                expires: .now.advanced(by: .seconds(3600)),
                keepUntil: nil,
                collapse: nil,
                payload: NativePayload(kind: .alert, body: Array(#"{"aps":{"alert":"a"}}"#.utf8)),
                devices: devices,
                isDryRun: isDryRun
            )
        }

        private static func batches(_ count: Int) -> [DeliverBatch] { (1...count).map { self.batch($0) } }

        /// Whoever may publish to the broker writes there what they like.
        @Test(arguments: [
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "-1", "0", "", "x", "1e9",
        ])
        func aHeaderOfDevicesEndsNobody(devices: String) async throws {
            try await Self.with { site in
                await site.publish(1, Self.batches(2), headers: [MessageProperties.devicesHeader: devices])
                try await site.work()
                #expect(site.simulator.received().count == 2)
            }
        }

        @Test(arguments: PushService.inService) func aMessageCostsAtMostAllThereIs(pns: PushService) {
            let configuration = DeliveryWorker.Configuration()
            for devices in ["9223372036854775807", "-9223372036854775808", "-1", "x", "12"] {
                let properties = MessageProperties(
                    type: "deliver",
                    messageID: "1",
                    contentType: "x",
                    headers: [MessageProperties.devicesHeader: devices]
                )
                let delivery = Delivery(tag: 1, generation: 1, properties: properties, body: [], deliveryCount: 0)
                let cost = configuration.cost(of: delivery, at: pns)
                #expect((1...configuration.devices * pns.descriptor.weight).contains(cost))
            }
        }

        /// Beside other sends of its message.
        @Test func aDryRunIsCountedAndNotSent() async throws {
            try await Self.with { site in
                let batches = [Self.batch(1), Self.batch(2, isDryRun: true), Self.batch(3, isDryRun: true)]
                await site.publish(1, batches)
                try await site.work()
                #expect(site.simulator.received().count == 1)
                let outcomes = site.store.with { $0.outcomes }
                #expect(outcomes.map(\.accepted) == [1, 1, 1])
                #expect(outcomes.map(\.isDryRun) == [false, true, true])
            }
        }

        @Test(arguments: [1, 7]) func aMessageIsSentAndRecorded(count: Int) async throws {
            try await Self.with { site in
                await site.publish(1, Self.batches(count))
                try await site.work()
                #expect(site.simulator.received().count == count)
                let outcomes = site.store.with { $0.outcomes }
                #expect(outcomes.map(\.accepted) == Array(repeating: 1, count: count))
                #expect(outcomes.allSatisfy { $0.hint?.message == MessageID(number: 1) })
            }
        }

        @Test func closedBatchesAreNotSent() async throws {
            try await Self.with { site in
                let batches = Self.batches(3)
                site.store.with { $0.open[MessageID(number: 1)] = [batches[1].key] }
                await site.publish(1, batches, isOpen: false)
                // All of this one is gone, or goes its own way.
                await site.publish(2, Self.batches(2), isOpen: false)
                try await site.work()
                #expect(site.store.with { $0.outcomes.map(\.key) } == [batches[1].key])
                #expect(site.simulator.received().count == 1)
            }
        }

        @Test func anUnrecordableOutcomeIsSplitOffAndDeadLettered() async throws {
            try await Self.with { site in
                let batches = Self.batches(3)
                site.store.with { $0.unrecordable = [batches[1].key] }
                await site.publish(1, batches)
                try await site.work()
                // The others stand, and its own message is the only one that is left.
                #expect(site.store.with { $0.outcomes.map(\.key) } == [batches[0].key, batches[2].key])
                #expect(site.store.with { $0.splits } == [MessageID(number: 1)])
                #expect(try await site.dead().isEmpty)
                await site.publish(101, [batches[1]], isOpen: false)
                try await site.work()
                let dead = try await site.dead()
                #expect(dead.map(\.id) == ["101"])
                #expect(dead.first?.reason.contains("a row makes no sense") == true)
            }
        }

        @Test func aMessageThatCannotBeSplitIsDeadLettered() async throws {
            try await Self.with { site in
                let batches = Self.batches(2)
                site.store.with { ($0.unrecordable, $0.isSplitRefused) = ([batches[0].key], true) }
                await site.publish(1, batches)
                try await site.work()
                #expect(try await site.dead().map(\.id) == ["1"])
            }
        }

        /// What a redelivery leads to, by how often the store has counted one before.
        @Test(arguments: [
            (0, 1, "sent"), (0, 3, "sent"), (1, 3, "split"), (4, 1, "sent"), (5, 1, "dead"), (5, 3, "split"),
        ])
        func aRedeliveryIsCounted(before: Int, members: Int, end: String) async throws {
            try await Self.with { site in
                site.store.with { $0.redeliveries[MessageID(number: 1)] = before }
                await site.publish(1, Self.batches(members))
                try await site.lose(1, times: 1)
                try await site.work()
                #expect(site.store.with { $0.redeliveries[MessageID(number: 1)] } == before + 1)
                #expect(site.store.with { $0.outcomes.count } == (end == "sent" ? members : 0))
                #expect(site.store.with { $0.splits.count } == (end == "split" ? 1 : 0))
                #expect(try await site.dead().count == (end == "dead" ? 1 : 0))
            }
        }

        @Test func aRedeliveryOfADeletedMessageIsDropped() async throws {
            try await Self.with { site in
                await site.publish(1, Self.batches(2), isOpen: false)
                try await site.lose(1, times: 1)
                try await site.work()
                #expect(site.simulator.received().isEmpty)
                #expect(try await site.dead().isEmpty)
            }
        }

        @Test func anUnreadableMessageIsDeadLettered() async throws {
            try await Self.with { site in
                var message = OutgoingMessage(
                    routingKey: Self.queue,
                    properties: MessageProperties(type: "deliver", messageID: "1", contentType: "x"),
                    body: [1, 2, 3]
                )
                #expect(await site.broker.publish([message], deadline: .seconds(1)) == [.published])
                message.properties.messageID = "message/1"
                message.body = DeliveryMessage(batches: [Self.batch(1)]).encoded()
                #expect(await site.broker.publish([message], deadline: .seconds(1)) == [.published])
                try await site.work()
                #expect(Set(try await site.dead().map(\.id)) == ["1", "message/1"])
                #expect(site.simulator.received().isEmpty)
            }
        }

        /// A stranger's message with the number of a real one: what the row says goes on, unless it cannot be read either.
        @Test(arguments: [(0, 1, "anew"), (0, 3, "anew"), (1, 3, "split"), (4, 1, "anew"), (5, 1, "dead")])
        func anUnreadableMessageIsPublishedAgainFromItsRow(before: Int, members: Int, end: String) async throws {
            try await Self.with { site in
                let id = MessageID(number: 1)
                site.store.with { $0.redeliveries[id] = before }
                site.store.with { $0.open[id] = Self.batches(members).map(\.key) }
                let message = OutgoingMessage(
                    routingKey: Self.queue,
                    properties: MessageProperties(type: "deliver", messageID: "\(id)", contentType: "x"),
                    body: [1, 2, 3]
                )
                #expect(await site.broker.publish([message], deadline: .seconds(1)) == [.published])
                try await site.work()
                #expect(site.store.with { $0.deferrals } == (end == "anew" ? [id: Deferral()] : [:]))
                #expect(site.store.with { $0.splits.count } == (end == "split" ? 1 : 0))
                #expect(try await site.dead().count == (end == "dead" ? 1 : 0))
            }
        }

        /// It is published before the worker knows that the message is deferred, and is not one of the same work.
        @Test func whatADeferralPublishesIsWorkedOn() async throws {
            try await Self.with { site in
                let message = OutgoingMessage(
                    routingKey: Self.queue,
                    properties: MessageProperties(
                        type: "deliver",
                        messageID: "\(MessageID(number: 1))",
                        contentType: "x"
                    ),
                    body: [1, 2, 3]
                )
                site.store.with { $0.open[MessageID(number: 1)] = Self.batches(1).map(\.key) }
                site.store.with { state in
                    state.afterDeferral = {
                        await site.publish(1, Self.batches(1))
                        while site.broker.unacknowledged(in: Self.queue) < 2, site.simulator.received().isEmpty {
                            try? await Task.sleep(for: .milliseconds(10))
                        }
                        // Long enough for the copy to be handed on.
                        try? await Task.sleep(for: .milliseconds(100))
                    }
                }
                #expect(await site.broker.publish([message], deadline: .seconds(1)) == [.published])
                try await site.work()
                #expect(site.simulator.received().count == 1)
                #expect(site.store.with { $0.outcomes.count } == 1)
            }
        }

        /// As when the message that it came in was split by another worker meanwhile.
        @Test(arguments: [true, false]) func aBatchInProgressElsewhereIsSentOnce(isRecordable: Bool) async throws {
            try await Self.with { site in
                let batches = Self.batches(2)
                site.simulator.inject(SimulatorFault(.delay, pns: .apns, latency: 1000))
                if !isRecordable { site.store.with { $0.unrecordable = [batches[1].key] } }
                await site.publish(1, batches)
                try await site.work {
                    while site.simulator.counts.apns.requests < 2 { try await Task.sleep(for: .milliseconds(10)) }
                    await site.publish(102, [batches[1]])
                    try await Task.sleep(for: .milliseconds(200))
                    #expect(site.broker.unacknowledged(in: Self.queue) == 2)
                }
                #expect(site.simulator.received().count == 2)
                // Nothing came of it: it is not done with.
                let deferred = site.store.with { $0.deferrals[MessageID(number: 102)] }
                #expect(deferred == (isRecordable ? nil : Deferral()))
            }
        }

        @Test func stoppingABatchDoesNotStopTheOthers() async throws {
            try await Self.with { site in
                let batches = Self.batches(5)
                site.store.with { $0.stopping[batches[2].key] = .cancelled }
                await site.publish(1, batches)
                try await site.work()
                let outcomes = site.store.with { $0.outcomes }
                #expect(outcomes.map(\.accepted) == [1, 1, 0, 1, 1])
                #expect(outcomes.map(\.cancelled) == [0, 0, 1, 0, 0])
            }
        }

        @Test func pausedDeliveriesAreDeferred() async throws {
            try await Self.with { site in
                let pause = Pause(queue: .deliver(.apns), app: nil, by: "ann", since: .now)
                site.store.with { $0.pauses = [pause] }
                await site.publish(1, Self.batches(2))
                try await site.work()
                let deferral = site.store.with { $0.deferrals[MessageID(number: 1)] }
                #expect(deferral == Deferral(reason: Pause.reason(.deliver(.apns))))
                #expect(site.simulator.received().isEmpty)
            }
        }

        @Test func aProbeIsSmallOverAllBatchesOfAMessage() async throws {
            try await Self.with { site in
                site.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns))
                var configuration = DeliveryWorker.Configuration()
                configuration.breaker.pause = .milliseconds(500)
                await site.publish(1, Self.batches(150))
                try await site.work(configuration) {
                    while site.store.with({ $0.outcomes.count }) < 150 { try await Task.sleep(for: .milliseconds(10)) }
                    #expect(site.simulator.counts.apns.requests == 150)
                    // It is open; while it is, nothing goes out.
                    await site.publish(2, (200..<300).map { Self.batch($0) })
                    while site.store.with({ $0.deferrals[MessageID(number: 2)] }) == nil {
                        try await Task.sleep(for: .milliseconds(10))
                    }
                    try await Task.sleep(for: .milliseconds(600))
                    await site.publish(2, (200..<300).map { Self.batch($0) })
                    while site.store.with({ $0.outcomes.count }) < 250 { try await Task.sleep(for: .milliseconds(10)) }
                    #expect(site.simulator.counts.apns.requests == 150 + configuration.breaker.probe)
                    // A probe that is answered lets the rest of its message follow.
                    site.simulator.clearFaults()
                    try await Task.sleep(for: .milliseconds(1100))
                    await site.publish(3, (300..<400).map { Self.batch($0) })
                }
                let accepted = site.store.with { $0.outcomes.reduce(0) { $0 + $1.accepted } }
                #expect(accepted == 100)
                #expect(site.simulator.counts.apns.requests == 150 + configuration.breaker.probe + 100)
            }
        }

        /// At APNs it proves nothing: it must not take probe after probe.
        @Test func aDryRunWaitsForAnOpenBreaker() async throws {
            try await Self.with { site in
                site.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns))
                var configuration = DeliveryWorker.Configuration()
                configuration.breaker.pause = .milliseconds(500)
                await site.publish(1, Self.batches(150))
                try await site.work(configuration) {
                    while site.store.with({ $0.outcomes.count }) < 150 { try await Task.sleep(for: .milliseconds(10)) }
                    try await Task.sleep(for: .milliseconds(600))
                    await site.publish(2, (200..<300).map { Self.batch($0, isDryRun: true) })
                    while site.store.with({ $0.outcomes.count }) < 250 { try await Task.sleep(for: .milliseconds(10)) }
                    #expect(site.simulator.counts.apns.requests == 150)
                    let accepted = site.store.with { $0.outcomes.reduce(0) { $0 + $1.accepted } }
                    #expect(accepted == configuration.breaker.probe)
                    // The breaker is as open as before: a real push is the probe, before the dry runs beside it.
                    let dry = (300..<340).map { Self.batch($0, isDryRun: true) }
                    site.simulator.clearFaults()
                    await site.publish(3, dry + [Self.batch(400)])
                }
                #expect(site.simulator.counts.apns.requests == 151)
                let accepted = site.store.with { $0.outcomes.suffix(41).reduce(0) { $0 + $1.accepted } }
                #expect(accepted == 41)
            }
        }
    }
}
