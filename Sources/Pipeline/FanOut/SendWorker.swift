package import Broker
import FaultInjection
package import Hub
package import Logging
import PushModel
import ServiceLifecycle
package import Store

/// Takes send messages, claims them, and has them fanned out slice by slice (rule 4).
package struct SendWorker: Service {
    /// The store's part that fan-out needs.
    package typealias SendStore = FanOutStore & OutboxStore & PauseStore

    let hub: any NotificationHub
    let store: any SendStore
    let apps: AppDirectory
    let broker: any MessageBroker
    let pauses: PauseWatch
    let waiting: WaitingPlanners
    /// Bounds the slices that are fanned out at once.
    let slices: FairLimiter
    /// Bounds the messages that are taken and not fanned out: they wait in memory between their slices.
    private let claims: FairLimiter
    private let inWork = MessagesInWork()
    private let largeClaims = LargeClaims()
    private let logger: Logger

    /// A send whose fan-out was begun more often than any run of restarts explains, and came nowhere, kills its planners.
    private static let claimLimit = 50

    /// - Parameters:
    ///   - hub: Where sends go.
    ///   - store: Holds messages and sends.
    ///   - apps: The apps' declarations.
    ///   - broker: Brings the messages.
    ///   - concurrency: How many slices are fanned out at once.
    ///   - logger: For degraded states.
    package init(
        hub: any NotificationHub,
        store: any SendStore,
        apps: AppDirectory,
        broker: any MessageBroker,
        concurrency: Int = 16,
        logger: Logger
    ) {
        self.hub = hub
        self.store = store
        self.apps = apps
        self.broker = broker
        self.logger = logger
        self.slices = FairLimiter(permits: concurrency)
        self.claims = FairLimiter(permits: concurrency * 64)
        self.waiting = WaitingPlanners(places: concurrency * 8)
        self.pauses = PauseWatch(store: store, logger: logger)
    }

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
                    handle: { try await self.handle($0, $1, from: queue) },
                    // A permit here is held until the message is fanned out; the first slice is what runs alone.
                    isolatesRedeliveries: false
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
        let patience: StorePatience
    }

    private func handle(_ delivery: Delivery, _ subscription: any Subscription, from queue: String) async throws {
        guard let id = MessageID(delivery.properties.messageID) else {
            try await DeadLetterPublisher(broker: self.broker)
                .publish(delivery, from: queue, reason: "its message-id names no message")
            return await subscription.acknowledge([delivery])
        }
        // A copy of a message that this process is at joins the work: after long waits there may be very many.
        guard self.inWork.begin(id) else { return await subscription.acknowledge([delivery]) }
        var logger = self.logger
        logger[metadataKey: "push.message"] = "\(id)"
        let patience = StorePatience(logger: logger, limit: .seconds(30))
        let message = Incoming(id: id, delivery: delivery, queue: queue, patience: patience)
        let rest: Rest
        do { rest = try await self.work(on: message, subscription) } catch {
            self.inWork.end(id)
            throw error
        }
        // Ended before it is given back: a copy that the sweeper publishes at once is no copy of what this process is at.
        let hadCopy = self.inWork.end(id)
        let isLost =
            switch rest {
            case .nothing: false
            case .givenBack(let claim, let deferral): try await !self.giveBack(claim, deferral, patience: patience)
            case .lost: true
            }
        guard isLost, hadCopy else { return }
        // Whoever took the message over may have published just the copy that joined here, and then nobody is at it (rule 4).
        _ = try await patience.run { try await self.store.defer(id, epoch: nil, Deferral()) }
        CrashPoint.outboxDeferred.reach()
    }

    /// Takes a message, and has it fanned out.
    private func work(on message: Incoming, _ subscription: any Subscription) async throws -> Rest {
        let (delivery, patience) = (message.delivery, message.patience)
        guard let (claim, isAlone) = try await self.take(message) else {
            await subscription.acknowledge([delivery])
            return .nothing
        }
        let isLarge = claim.isLarge
        guard !isLarge || self.largeClaims.enter() else {
            let isGivenBack = try await self.giveBack(claim, Deferral(pause: Self.longestRest), patience: patience)
            await subscription.acknowledge([delivery])
            return isGivenBack ? .nothing : .lost
        }
        defer { if isLarge { self.largeClaims.leave() } }
        // Until its first commit the message is what brings the work back if this process dies, from then on the claim's lease
        // (rule 1).
        let first: FirstSlice = claim.isHeld ? .held(claim) : try await self.claimBySlice(claim, patience: patience)
        CrashPoint.sendClaimed.reach()
        await subscription.acknowledge([delivery])
        CrashPoint.sendAcknowledged.reach()
        switch first {
        case .held(let held): return try await self.fanOut(held, alone: isAlone, patience: patience)
        case .ended(let rest): return rest
        }
    }

    /// Takes a message over.
    ///
    /// - Returns: The claim, and whether its first slice is to run alone; nil when there is nothing to do, or it was given back.
    private func take(_ message: Incoming) async throws -> (claim: FanOutClaim, isAlone: Bool)? {
        let (id, delivery, patience) = (message.id, message.delivery, message.patience)
        if let app = delivery.app, let reason = self.pauses.reason(.send, app: app) {
            // It rests until this process has forgotten it, also where the pause ends just now.
            let rest = Deferral(pause: .milliseconds(250), reason: reason)
            _ = try await patience.run { try await self.store.defer(id, epoch: nil, rest) }
            CrashPoint.outboxDeferred.reach()
            return nil
        }
        var isAlone = false
        if delivery.deliveryCount > 0 {
            guard let isRepeated = try await self.countRedelivery(of: message) else { return nil }
            isAlone = isRepeated
        }
        CrashPoint.sendTaken.reach()
        do {
            let mayPeek = delivery.deliveryCount == 0
            guard let claim = try await self.claim(id, mayPeek: mayPeek, patience: patience) else { return nil }
            guard claim.claims <= (claim.only == nil ? PoisonLimit.starts : Self.claimLimit) else {
                let reason = "its fan-out was begun \(claim.claims) times without an end"
                try await self.giveUp(claim, reason: reason, patience: patience)
                return nil
            }
            return (claim, isAlone || claim.claims > PoisonLimit.starts)
        } catch let error as StoreError where error.code != .unavailable {
            try await self.splitUnreadable(id, error, patience: patience)
            return nil
        }
    }

    /// Counts a redelivery, and finds out who kills its planners (rule 5).
    ///
    /// - Returns: Whether the message is to be worked on alone; nil when it is done with.
    private func countRedelivery(of message: Incoming) async throws -> Bool? {
        let (id, delivery, patience) = (message.id, message.delivery, message.patience)
        let answer = try await patience.run { try await self.store.redelivered(id) }
        CrashPoint.outboxRedelivered.reach()
        guard let (count, members) = answer else { return nil }
        let isRepeated = max(count, delivery.deliveryCount) > 1
        if members > 1, isRepeated {
            patience.logger.warning("A message came again and again; its sends go one by one")
            try await self.split(id, patience: patience)
            return nil
        }
        guard count <= PoisonLimit.starts else {
            try await DeadLetterPublisher(broker: self.broker)
                .publish(delivery, from: message.queue, reason: "redelivered \(count) times without an end")
            return nil
        }
        return isRepeated
    }

    /// Peeks at a message that nobody was at before, where that is asked for, and claims any other.
    private func claim(_ id: MessageID, mayPeek: Bool, patience: StorePatience) async throws -> FanOutClaim? {
        if mayPeek {
            guard let peeked = try await patience.run({ try await self.store.peek(id) }) else { return nil }
            // Whoever was at it before may have died of it: from then on claims are counted.
            if peeked.message.epoch == 0 { return peeked }
        }
        guard var claim = try await patience.run({ try await self.store.claim(id) }) else { return nil }
        if claim.work == nil {
            let read = claim
            claim.work = try await patience.run { try await self.store.work(of: read) }
        }
        return claim
    }

    /// What came of the first slice of a message.
    private enum FirstSlice {
        /// A claim that the store knows of.
        case held(FanOutClaim)
        case ended(Rest)
    }

    /// Fans out the first slice of a message that was only peeked at: most need no more than its commit.
    ///
    /// Where it comes to no commit the message is claimed.
    private func claimBySlice(_ claim: FanOutClaim, patience: StorePatience) async throws -> FirstSlice {
        do {
            switch try await self.slice(of: claim, alone: false).progress {
            case .done: return .ended(.nothing)
            case .lost: return .ended(.lost)
            case .more(let next, _) where next.isHeld: return .held(next)
            case .blocked(let next, _, _) where next.isHeld: return .held(next)
            case .more, .blocked: break
            }
        } catch is HubError {
            patience.logger.debug("The hub takes nothing yet; the message is claimed first")
        } catch is StoreError {
            patience.logger.debug("The first slice came to nothing; the message is claimed first")
        }
        let held = try await self.claim(claim.message.id, mayPeek: false, patience: patience)
        return held.map(FirstSlice.held) ?? .ended(.nothing)
    }
}

extension FanOutClaim {
    /// The only send of its message; nil where there are several, or it is not read.
    var only: JobID? {
        switch self.work {
        case .campaign(let campaign): campaign.job.id
        case .group(let sends, _): self.position == 0 && sends.count == 1 ? sends[0].id : nil
        case nil: nil
        }
    }

    fileprivate var isLarge: Bool {
        guard case .campaign(let campaign) = self.work else { return false }
        return campaign.request.audience.tags.count > LargeClaims.names
    }
}
