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
        /// Sends have one device, which no worker sends to.
        case begins
        /// Sends are abandoned.
        case abandons
        /// Registrations are made, but no event says so.
        case saysNothing
        /// Registrations are made, and their messages are dead before anybody knows.
        case dies
    }

    /// A job that is answered, and who waits for that.
    private struct Answered {
        let job: JobID
        let waiter: String?
    }

    let store: any ResultStore
    let broker: any MessageBroker
    let habit: Habit

    func run() async throws {
        guard self.habit != .isSilent else { return try await gracefulShutdown() }
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for priority in Priority.allCases {
                    group.addTask { try await self.work(.register, priority) { try await self.register($0) } }
                    guard self.habit != .onlyRegisters else { continue }
                    group.addTask { try await self.work(.send, priority) { try await self.send($0) } }
                }
                try await group.waitForAll()
            }
        }
    }

    private func work(
        _ queue: WorkQueue,
        _ priority: Priority,
        _ answer: @escaping @Sendable (MessageID) async throws -> [Answered]
    ) async throws {
        try await self.broker.consume(queue: QueueName.work(queue, priority), prefetch: 10) { subscription in
            while let delivery = try await subscription.next() {
                if let id = MessageID(delivery.properties.messageID) {
                    for answered in try await answer(id) { await self.notify(answered) }
                }
                await subscription.acknowledge([delivery])
            }
        }
    }

    private func notify(_ answered: Answered) async {
        guard let waiter = answered.waiter, self.habit != .saysNothing else { return }
        let event = OutgoingMessage(eventFor: answered.job, waiter: waiter)
        _ = await self.broker.publish([event], deadline: .seconds(1))
    }

    private func register(_ message: MessageID) async throws -> [Answered] {
        var answered: [Answered] = []
        for job in try await self.store.registerJobs(of: message) {
            guard case .register(let request) = job.work else { continue }
            let result = try await self.result(of: request, job)
            guard self.habit != .dies else {
                try await self.store.deadLetter(
                    IncomingDeadLetter(
                        queue: QueueName.work(.register, .high),
                        type: "register",
                        messageID: "\(message)",
                        app: job.app,
                        reason: "redelivered 6 times, never completed",
                        body: []
                    )
                )
                continue
            }
            answered.append(
                Answered(job: job.id, waiter: try await self.store.finishRegister(job.id, result: result))
            )
        }
        return answered
    }

    private func result(of request: RegisterRequest, _ job: Job) async throws -> RegisterResult {
        if case .channel(let channels) = request { return try Self.result(of: channels.action) }
        let job = RegisterJob(job, try await self.store.app(job.app) ?? AppSpec())
        while true {
            if let result = try await self.store.register(request, of: job) { return result }
        }
    }

    /// Apple has the channels `a+/=` and `Yg==`; only the first can be shown and deleted, and Apple refuses requests about `Yw==`.
    private static func result(of action: ChannelRequest.Action) throws -> RegisterResult {
        let (first, other) = (try APNsChannelID("a+/="), try APNsChannelID("Yg=="))
        switch action {
        case .create(let storage): return .channels([BroadcastChannel(id: first, storage: storage)], hasMore: false)
        case .list(nil, _): return .channels([BroadcastChannel(id: first)], hasMore: true)
        case .list: return .channels([BroadcastChannel(id: other)], hasMore: false)
        case .show(first): return .channels([BroadcastChannel(id: first, storage: .latest)], hasMore: false)
        case .delete(first): return .done
        case .show(other), .delete(other): return .notFound
        case .show, .delete: return .refused("403 TopicMismatch")
        }
    }

    private func send(_ message: MessageID) async throws -> [Answered] {
        guard let claim = try await self.store.claim(message, peeking: false) else { return [] }
        var answered: [Answered] = []
        switch try await self.store.work(of: claim) {
        case nil: break
        case .group(let sends, _):
            if self.habit == .abandons { return try await self.abandon(sends.map(\.id), claim) }
            let pages = self.habit == .begins ? [SinglePage(pns: .apns, size: 1, message: 0)] : []
            let fannedOut = sends.map {
                FanOutSend(sequence: $0.sequence, decision: .batches(pages, through: $0.through))
            }
            _ = try await self.store.commit(.group(GroupStep(sends: fannedOut, messages: pages.count)), of: claim)
            answered = sends.map { Answered(job: $0.id, waiter: $0.waiter) }
        case .campaign(let campaign):
            if self.habit == .abandons { return try await self.abandon([campaign.job.id], claim) }
            var cursors = campaign.cursors
            for index in cursors.indices {
                cursors[index].isDone = true
                let page = FanOutPage(page: 0, from: cursors[index].after, to: cursors[index].through, size: 1)
                let step = PageStep(
                    sequence: campaign.job.sequence,
                    cursors: cursors,
                    pns: cursors[index].pns,
                    batches: self.habit == .begins ? [page] : []
                )
                _ = try await self.store.commit(.pages(step), of: claim)
            }
            answered = [Answered(job: campaign.job.id, waiter: campaign.waiter)]
        }
        return answered
    }

    /// Only one send of a message can be abandoned.
    private func abandon(_ jobs: [JobID], _ claim: FanOutClaim) async throws -> [Answered] {
        let result = try await self.store.commit(.abandon(reason: "no credentials"), of: claim)
        guard case .written(let written) = result else { return jobs.prefix(1).map { Answered(job: $0, waiter: nil) } }
        return jobs.prefix(1).map { Answered(job: $0, waiter: written.waiter) }
    }
}
