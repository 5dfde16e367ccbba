import Broker
import Hub
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// What becomes of a send message that the broker brings, whatever the hub and the store say.
@Suite(.timeLimit(.minutes(5)), .undisturbed) struct SendWorkerTests {
    @Test func mostMessagesNeedOneCommit() async throws {
        let bench = try await SendBench(.done)
        try await bench.deliver(7)
        try await bench.expect(["peek 7", "advance 7@0"], events: 1)
    }

    @Test func aMessageIsClaimedWhenItsFirstStepCommittedNothing() async throws {
        let bench = try await SendBench(.blocked, .done)
        try await bench.deliver(7)
        try await bench.expect(["peek 7", "advance 7@0", "claim 7", "advance 7@1"], events: 1)
    }

    @Test func aMessageAnotherWorkerBeganIsClaimed() async throws {
        let bench = try await SendBench(.done)
        bench.store.change { $0.epoch = 3 }
        try await bench.deliver(7)
        try await bench.expect(["peek 7", "claim 7", "advance 7@4"], events: 1)
    }

    /// It waited until its app's window had room for it; the sweeper alone has raised its epoch.
    @Test func whatWasTakenForTheFirstTimeIsPeekedAt() async throws {
        let bench = try await SendBench(.done)
        bench.store.change { $0.epoch = OutboxMessage.firstTaking }
        try await bench.deliver(7)
        try await bench.expect(["peek 7", "advance 7@1"], events: 1)
    }

    @Test func aMessageWithoutCreditIsDeferred() async throws {
        let bench = try await SendBench(.blocked)
        try await bench.deliver(7)
        try await bench.expect(["peek 7", "advance 7@0", "claim 7", "advance 7@1", "defer 7@1 apns"])
    }

    @Test func aDeletedMessageIsIgnored() async throws {
        let bench = try await SendBench(.done)
        bench.store.change { $0.members = 0 }
        try await bench.deliver(7)
        try await bench.expect(["peek 7"])
        try await bench.deliver(8, isRedelivered: true)
        try await bench.expect(["peek 7", "redelivered 8"])
    }

    @Test func aFirstRedeliveryIsProcessed() async throws {
        let bench = try await SendBench(.done)
        bench.store.change { $0.members = 3 }
        try await bench.deliver(7, isRedelivered: true)
        try await bench.expect(["redelivered 7", "claim 7", "advance 7@1"], events: 1)
    }

    @Test(arguments: [(2, 3, "split 7"), (2, 1, "claim 7"), (6, 3, "split 7"), (6, 1, nil)])
    func repeatedRedeliveriesAreSplitAndDeadLettered(count: Int, members: Int, next: String?) async throws {
        let bench = try await SendBench(.done)
        bench.store.change { ($0.redeliveries, $0.members) = (count - 1, members) }
        try await bench.deliver(7, isRedelivered: true)
        let rest = next == "claim 7" ? ["claim 7", "advance 7@1"] : next.map { [$0] } ?? []
        try await bench.expect(["redelivered 7"] + rest, events: next == "claim 7" ? 1 : 0)
        #expect(try await bench.broker.depth(of: QueueName.dead).ready == (next == nil ? 1 : 0))
    }

    @Test(arguments: [(6, 2, "split 7"), (5, 2, nil), (51, 1, "abandon 7"), (50, 1, nil)])
    func tooManyClaimsAbandonTheJob(claims: Int, members: Int, end: String?) async throws {
        let bench = try await SendBench(.done)
        bench.store.change { ($0.epoch, $0.claims, $0.members) = (1, claims - 1, members) }
        try await bench.deliver(7)
        let isGroup = members > 1
        let rest = end == nil ? ["advance 7@2"] : isGroup ? ["abandon 7", "split 7"] : ["abandon 7"]
        try await bench.expect(["peek 7", "claim 7"] + rest, events: end == "split 7" ? 0 : 1)
    }

    @Test func aSendTheHubRefusesIsAbandoned() async throws {
        let bench = try await SendBench(.refused)
        try await bench.deliver(7)
        try await bench.expect(
            ["peek 7", "advance 7@0", "claim 7", "advance 7@1", "abandon 7"],
            events: 1
        )
    }

    @Test func aHubThatStaysAwayIsAskedAgainLater() async throws {
        let bench = try await SendBench(.unavailable)
        try await bench.deliver(7)
        try await bench.expect(["peek 7", "advance 7@0", "claim 7", "advance 7@1", "defer 7@1 2.0 seconds"])
    }

    @Test(arguments: [1, 2]) func aCorruptMessageIsSplit(members: Int) async throws {
        let bench = try await SendBench(.done)
        bench.store.change { ($0.members, $0.isCorrupt) = (members, true) }
        try await bench.deliver(7)
        try await bench.expect(["peek 7", "redelivered 7"] + (members > 1 ? ["split 7"] : []))
    }

    /// What was only peeked at is claimed first: it may have been published again meanwhile, and this be its copy.
    @Test(arguments: [1, 2]) func aMessageLostToAnotherWorkerIsDueAgainForItsCopy(copies: Int) async throws {
        let bench = try await SendBench(.lost)
        for _ in 0..<copies { try await bench.deliver(7) }
        let calls = ["peek 7", "advance 7@0", "claim 7", "advance 7@1"]
        try await bench.expect(calls + (copies > 1 ? ["defer 7 "] : []))
    }

    @Test(arguments: [1, 2]) func aMessageLostDuringADeferralIsDueAgainForItsCopy(copies: Int) async throws {
        let bench = try await SendBench(.blocked)
        bench.store.change { $0.isTakenOver = true }
        for _ in 0..<copies { try await bench.deliver(7) }
        let calls = ["peek 7", "advance 7@0", "claim 7", "advance 7@1", "defer 7@1 apns"]
        try await bench.expect(calls + (copies > 1 ? ["defer 7 "] : []))
    }

    @Test func pausedSendsAreDeferred() async throws {
        let bench = try await SendBench(.done)
        bench.store.change { $0.isPaused = true }
        try await bench.deliver(7)
        try await bench.expect(["defer 7 paused: send"])
    }

    @Test func aMessageWithoutANumberIsDeadLettered() async throws {
        let bench = try await SendBench(.done)
        try await bench.publish(id: JobID.make().description)
        try await bench.expect([])
        #expect(try await bench.broker.depth(of: QueueName.dead).ready == 1)
    }
}

/// A send worker between a store and a hub that only write down what they are asked.
private struct SendBench {
    let store = RecordingStore()
    let broker = InMemoryBroker()
    private let hub: ScriptedFanOut

    init(_ answers: ScriptedFanOut.Answer...) async throws {
        self.hub = ScriptedFanOut(store: self.store, answers: answers)
        var topology = Topology.pushline
        topology.queues.append(.init(name: "waiter", kind: .exclusive, exchange: QueueName.events))
        try await self.broker.declare(topology)
    }

    func deliver(_ number: Int64, isRedelivered: Bool = false) async throws {
        try await self.publish(id: "\(number)")
        guard isRedelivered else { return }
        let queue = QueueName.work(.send, .normal)
        _ = try await self.broker.consume(queue: queue, prefetch: 1) { try await $0.next()?.body }
    }

    func publish(id: String) async throws {
        let properties = MessageProperties(
            type: "send",
            messageID: id,
            contentType: "application/json",
            headers: [MessageProperties.appHeader: AppID.default.name]
        )
        let message = OutgoingMessage(
            routingKey: QueueName.work(.send, .normal),
            properties: properties,
            body: []
        )
        #expect(await self.broker.publish([message], deadline: .seconds(1)) == [.published])
    }

    /// Runs a worker until nothing is left, and looks what was asked.
    func expect(
        _ calls: [String],
        events: Int = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let worker = SendWorker(
            fanOut: self.hub,
            store: self.store,
            apps: AppDirectory(store: DeclaredApps()),
            broker: self.broker,
            logger: logger
        )
        let running = Task { try await worker.run() }
        let end = ContinuousClock.now.advanced(by: .seconds(5))
        let queue = QueueName.work(.send, .normal)
        while ContinuousClock.now < end {
            let left = self.broker.ready(in: queue) + self.broker.unacknowledged(in: queue)
            if left == 0, self.store.calls.count >= calls.count { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        // Nothing more comes.
        try await Task.sleep(for: .milliseconds(100))
        #expect(self.store.calls == calls, sourceLocation: sourceLocation)
        #expect(self.broker.ready(in: queue) == 0, sourceLocation: sourceLocation)
        #expect(self.broker.ready(in: "waiter") == events, sourceLocation: sourceLocation)
        running.cancel()
        _ = await running.result
        // All was acknowledged: nothing comes again.
        #expect(self.broker.ready(in: queue) == 0, sourceLocation: sourceLocation)
    }
}
