package import Broker
import FaultInjection
package import Hub
package import Logging
import PushModel
import PushlineLogging
package import PushlineTracing
import ServiceLifecycle
package import Store
import Tracing

/// Takes send messages, claims them, and has them fanned out slice by slice (rule 4).
package struct SendWorker: Service {
    /// The store's part that fan-out needs.
    package typealias SendStore = FanOutStore & OutboxStore & PauseStore & SuspectStore

    let fanOut: any SendFanOut
    let store: any SendStore
    let apps: AppDirectory
    let broker: any MessageBroker
    let pauses: PauseWatch
    let waiting: WaitingFanOuts
    /// Bounds the slices that are fanned out at once.
    let slices: FairLimiter
    /// Bounds those of sends with many names or to templates: each keeps a thread busy for as long as it lasts, and one at a time leaves
    /// the others to all else.
    let dearSlices = FairLimiter(permits: 1, slowAfter: nil)
    /// Bounds the messages that are taken and not fanned out: they wait in memory between their slices.
    private let claims: FairLimiter
    private let inProgress = MessagesInProgress()
    private let largeClaims = LargeClaims()
    let traces: Traces
    private let logger: Logger

    /// The claims without progress after which a message is taken to crash its send workers: no series of restarts
    /// explains more.
    private static let claimLimit = 50

    /// - Parameters:
    ///   - fanOut: Divides sends.
    ///   - store: The store of messages and sends.
    ///   - apps: The apps' declarations.
    ///   - broker: The broker.
    ///   - concurrency: The most slices at once.
    ///   - traces: Begins the spans of work.
    ///   - logger: For degraded states.
    package init(
        fanOut: any SendFanOut,
        store: any SendStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        concurrency: Int = 16,
        traces: Traces = .off,
        logger: Logger
    ) {
        self.fanOut = fanOut
        self.store = store
        self.apps = apps
        self.broker = broker
        self.traces = traces
        self.logger = logger
        self.slices = FairLimiter(permits: concurrency, slowAfter: nil)
        // Campaigns hold theirs for as long as they need.
        self.claims = FairLimiter(permits: concurrency * 64, slowAfter: nil)
        self.waiting = WaitingFanOuts(capacity: concurrency * 8)
        self.pauses = PauseWatch(store: store, logger: logger)
    }

    /// What it works on.
    package let inHand = WorkInHand()

    package func run() async throws {
        try await self.pauses.around { try await self.consume() }
    }

    private func consume() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for priority in Priority.allCases {
                let queue = QueueName.work(.send, priority)
                let consumer = QueueConsumer(
                    broker: self.broker,
                    queue: queue,
                    priority: priority,
                    prefetch: 64,
                    limiter: self.claims,
                    logger: self.logger,
                    suspects: Suspects(store: self.store, queue: queue, logger: self.logger),
                    count: { try await self.countRedelivery($0, $1, from: queue) },
                    handle: { try await self.handle($0, $1, isRepeated: $2, from: queue) },
                    condemn: {
                        try await DeadLetterPublisher(broker: self.broker).publish($0, from: queue, reason: $1)
                    },
                    tenant: { $0.app },
                    // The permit is held until the message is fanned out; only the first slice may run exclusively.
                    isolatesRedeliveries: false,
                    inHand: self.inHand
                )
                group.addTask { try await consumer.run() }
            }
        }
    }

    // MARK: One message

    /// A message as the broker brought it.
    private struct Incoming {
        let id: MessageID
        let delivery: Delivery
        let queue: String
        /// When the work on it began, where that is traced.
        let began: DefaultTracerClock.Timestamp?
        /// Whether it came repeatedly.
        let isRepeated: Bool
        let retry: StoreRetry
    }

    private func handle(
        _ delivery: Delivery,
        _ subscription: any Subscription,
        isRepeated: Bool,
        from queue: String
    ) async throws {
        guard let id = MessageID(delivery.properties.messageID) else {
            try await DeadLetterPublisher(broker: self.broker).publishUnnamed(delivery, from: queue)
            return await subscription.acknowledge([delivery])
        }
        // A copy of a message that this process is at joins the work: after long waits there may be very many.
        guard self.inProgress.begin(id) else { return await subscription.acknowledge([delivery]) }
        let retry = StoreRetry(logger: self.logger, limit: .seconds(30))
        let message = Incoming(
            id: id,
            delivery: delivery,
            queue: queue,
            began: self.traces.now,
            isRepeated: isRepeated,
            retry: retry
        )
        let end: FanOutEnd
        do { end = try await self.work(on: message, subscription) } catch {
            self.inProgress.end(id)
            throw error
        }
        self.logger.debug("A message was fanned out as far as it goes here", metadata: ["outcome": "\(end.label)"])
        // Ended before the deferral, so that a copy published at once by the sweeper does not join this work.
        let hadCopy = self.inProgress.end(id)
        let isLost =
            switch end {
            case .waiting: false
            case .deferred(let claim, let deferral): try await !self.deferMessage(claim, deferral, retry: retry)
            case .nothing, .lost: true
            }
        guard isLost, hadCopy else { return }
        // The process that took over may have published the copy that joined here, and then none would work on it (rule
        // 4); of a message that is done there is no row.
        _ = try await retry.run { try await self.store.defer(id, epoch: nil, Deferral()) }
        CrashPoint.outboxDeferred.reach()
    }

    /// Takes a message, and has it fanned out.
    private func work(on message: Incoming, _ subscription: any Subscription) async throws -> FanOutEnd {
        guard let (claim, isExclusive) = try await self.take(message) else {
            await subscription.acknowledge([message.delivery])
            return .nothing
        }
        return try await self.traces.process(
            message.delivery,
            from: message.queue,
            for: claim.traces,
            since: message.began
        ) { span in
            let end = try await self.work(on: message, subscription, from: claim, exclusive: isExclusive)
            switch end {
            // What waits is brought again and again.
            case .waiting, .deferred: span?.discard()
            case .nothing, .lost: break
            }
            span?.note { $0["pushline.outcome"] = end.label }
            return end
        }
    }

    /// Has a message that was taken fanned out.
    private func work(
        on message: Incoming,
        _ subscription: any Subscription,
        from claim: FanOutClaim,
        exclusive isExclusive: Bool
    ) async throws -> FanOutEnd {
        let (delivery, retry) = (message.delivery, message.retry)
        let (app, isLarge) = (claim.message.app, claim.isLarge)
        guard !isLarge || self.largeClaims.acquire(app) else {
            let isDeferred = try await self.deferMessage(claim, Deferral(pause: Self.longestPause), retry: retry)
            await subscription.acknowledge([delivery])
            return isDeferred ? .waiting : .lost
        }
        defer { if isLarge { self.largeClaims.release(app) } }
        // Until its first commit the message is what brings the work back if this process dies, from then on the claim's lease
        // (rule 1).
        let first: FirstSlice = claim.isClaimed ? .claimed(claim) : try await self.claimBySlice(claim, retry: retry)
        CrashPoint.sendClaimed.reach()
        await subscription.acknowledge([delivery])
        CrashPoint.sendAcknowledged.reach()
        switch first {
        case .claimed(let claimed): return try await self.fanOut(claimed, exclusive: isExclusive, retry: retry)
        case .ended(let end): return end
        }
    }

    /// Claims a message.
    ///
    /// - Returns: The claim, and whether its first slice is to run exclusively; nil if there is nothing to do, or it was
    ///   deferred.
    private func take(_ message: Incoming) async throws -> (claim: FanOutClaim, isExclusive: Bool)? {
        let (id, delivery, retry) = (message.id, message.delivery, message.retry)
        if let app = delivery.app, let reason = self.pauses.reason(.send, app: app) {
            // It is deferred until this process has forgotten it, also where the pause ends just now.
            let deferral = Deferral(pause: .milliseconds(250), reason: reason)
            _ = try await retry.run { try await self.store.defer(id, epoch: nil, deferral) }
            CrashPoint.outboxDeferred.reach()
            return nil
        }
        CrashPoint.sendTaken.reach()
        do {
            let mayPeek = delivery.deliveryCount == 0
            guard let claim = try await self.claim(id, mayPeek: mayPeek, retry: retry) else { return nil }
            guard claim.claims <= (claim.only == nil ? Redeliveries.limit : Self.claimLimit) else {
                let reason = "fan-out not completed after \(claim.claims) claims"
                try await self.giveUp(claim, reason: reason, retry: retry)
                return nil
            }
            return (claim, message.isRepeated || claim.claims > Redeliveries.limit)
        } catch let error as StoreError where !error.mayPass {
            try await self.splitUnreadable(id, error, retry: retry)
            return nil
        }
    }

    /// Counts a redelivery, to find messages that crash their send workers (rule 5).
    private func countRedelivery(
        _ delivery: Delivery,
        _ subscription: any Subscription,
        from queue: String
    ) async throws -> CountedDelivery {
        // It joins the work on it.
        if let id = MessageID(delivery.properties.messageID), self.inProgress.has(id) {
            return .work(isRepeated: false)
        }
        let retry = StoreRetry(logger: self.logger, limit: .seconds(30))
        return try await Redeliveries(store: self.store, retry: retry).settle(
            delivery,
            subscription,
            DeadLetterPublisher(broker: self.broker),
            from: queue,
            seen: delivery.deliveryCount
        )
    }

    /// Peeks at a message never claimed before, if requested, and claims any other.
    private func claim(_ id: MessageID, mayPeek: Bool, retry: StoreRetry) async throws -> FanOutClaim? {
        if mayPeek {
            guard let peeked = try await retry.run({ try await self.store.claim(id, peeking: true) }) else {
                return nil
            }
            // Whoever was at it before may have died of it: from then on claims are counted.
            if peeked.isFirst {
                LogContext.set(jobs: peeked.traces)
                return peeked
            }
        }
        guard var claim = try await retry.run({ try await self.store.claim(id, peeking: false) }) else { return nil }
        if claim.work == nil {
            let read = claim
            claim.work = try await retry.run { try await self.store.work(of: read) }
        }
        LogContext.set(jobs: claim.traces)
        return claim
    }

    /// The result of the first slice of a message.
    private enum FirstSlice {
        /// A claim that the store knows of.
        case claimed(FanOutClaim)
        case ended(FanOutEnd)
    }

    /// Fans out the first slice of a peeked message: most need only its commit.
    ///
    /// Without a commit the message is claimed.
    private func claimBySlice(_ claim: FanOutClaim, retry: StoreRetry) async throws -> FirstSlice {
        do {
            switch try await self.slice(of: claim, exclusive: false).progress {
            case .done: return .ended(.nothing)
            case .more(let next, _) where next.isClaimed: return .claimed(next)
            case .blocked(let next, _, _) where next.isClaimed: return .claimed(next)
            // What was peeked at has changed: it may have been published again meanwhile, and this is its copy.
            case .lost, .more, .blocked: break
            }
        } catch is HubError {
            retry.logger.debug("The hub is not ready; the message is claimed and tried again")
        } catch is StoreError {
            retry.logger.debug("The first slice failed; the message is claimed and tried again")
        }
        let claimed = try await self.claim(claim.message.id, mayPeek: false, retry: retry)
        return claimed.map(FirstSlice.claimed) ?? .ended(.nothing)
    }
}

extension FanOutClaim {
    /// The only send of its message; nil if there are several, or it is not read.
    var only: JobID? {
        switch self.work {
        case .campaign(let campaign): campaign.job.id
        case .group(let sends, _): self.position == 0 && sends.count == 1 ? sends[0].id : nil
        case nil: nil
        }
    }

    /// Its sends, as far as they are read.
    var traces: [JobTrace] {
        switch self.work {
        case .campaign(let campaign): [campaign.job.trace]
        case .group(let sends, _): sends.map { JobTrace($0.id, request: $0.requestID) }
        case nil: []
        }
    }

    /// Whether a slice of it is much work for this process, and not only for the store.
    var isDear: Bool {
        guard case .campaign(let campaign) = self.work else { return false }
        return self.isLarge || campaign.request.content.kind == .template
    }

    fileprivate var isLarge: Bool {
        guard case .campaign(let campaign) = self.work else { return false }
        let names = campaign.request.audience.expression?.tags.count ?? 0
        return names + campaign.request.truncatedTags > LargeClaims.names
    }
}
