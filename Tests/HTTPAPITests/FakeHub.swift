import Broker
import PushModel
import ServiceLifecycle
import Store

/// Does what the register and send workers do, as far as a caller of the API can see it.
struct FakeHub: Service {
    /// What becomes of jobs.
    enum Habit: Sendable {
        /// Registrations are made; sends find no target.
        case takes
        /// Registrations are made; sends wait.
        case onlyRegisters
        /// Nothing is ever answered.
        case isSilent
        /// Sends are abandoned.
        case abandons
        /// Registrations are made, but no event says so.
        case saysNothing
    }

    let store: any ResultStore
    let broker: any MessageBroker
    let habit: Habit

    func run() async throws {
        guard self.habit != .isSilent else { return try await gracefulShutdown() }
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for priority in Priority.allCases {
                    for kind in JobKind.allCases {
                        group.addTask { try await self.work(QueueName.jobs(kind, priority)) }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    private func work(_ queue: String) async throws {
        try await self.broker.consume(queue: queue, prefetch: 10) { subscription in
            while let delivery = try await subscription.next() {
                if let id = JobID(delivery.properties.messageID) {
                    let waiter =
                        delivery.properties.type == JobKind.send.rawValue
                        ? try await self.send(id) : try await self.register(id)
                    if let waiter, self.habit != .saysNothing {
                        _ = await self.broker.publish(
                            [OutgoingMessage(eventFor: id, waiter: waiter)],
                            deadline: .seconds(1)
                        )
                    }
                }
                await subscription.acknowledge([delivery])
            }
        }
    }

    private func register(_ id: JobID) async throws -> String? {
        guard let job = try await self.store.registerJob(id), case .register(let request) = job.work else { return nil }
        let result = try await self.store.change(
            request,
            app: job.app,
            user: job.user,
            sequence: job.sequence,
            expires: nil,
            most: nil
        )
        return try await self.store.finishRegister(id, result: result)
    }

    private func send(_ id: JobID) async throws -> String? {
        guard self.habit != .onlyRegisters, let claim = try await self.store.claim(id, lease: .seconds(60)) else {
            return nil
        }
        if self.habit == .abandons { return try await self.store.abandon(claim, reason: "no credentials") }
        for var lane in claim.lanes {
            lane.isDone = true
            _ = try await self.store.commit(
                PlanStep(batches: [], lane: lane),
                of: claim,
                lease: .seconds(60),
                grace: .seconds(60)
            )
        }
        return claim.waiter
    }
}
