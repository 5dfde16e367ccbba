import Broker
import FaultInjection
import Hub
import Logging
import PushModel
import PushlineLogging
import PushlineTracing
import ServiceLifecycle
import Store
import Tracing

// A claimed message, until the hub has all of it (rules 4 and 12).
extension SendWorker {
    /// How long a slice may take.
    private static let slice = Duration.milliseconds(200)
    /// The longest that a deferred message waits before it is looked at again.
    static let longestPause = Duration.seconds(5)

    /// The next step of a fan-out after a slice.
    private enum Next {
        /// Continue from a claim; if it must wait and may not do so here, the message is deferred.
        case goOn(FanOutClaim, waiting: Deferral?, hasCommitted: Bool)
        case end(FanOutEnd)
    }

    /// How the work on a message ends here.
    enum FanOutEnd {
        case nothing
        /// It was deferred before anything of it was done.
        case waiting
        /// It is to be deferred, for it cannot go on here.
        case deferred(FanOutClaim, Deferral)
        /// The claim is void: somebody has taken the message over, or its send was stopped.
        case lost

        var label: String {
            switch self {
            case .nothing: "done"
            case .waiting, .deferred: "deferred"
            case .lost: "lost"
            }
        }
    }

    /// Takes a claimed message further slice by slice, so that none holds a permit for long.
    func fanOut(_ begun: FanOutClaim, exclusive: Bool, retry: StoreRetry) async throws -> FanOutEnd {
        var (claim, isExclusive) = (begun, exclusive)
        var extended = ContinuousClock.now
        var stay = self.waiting.stay(app: claim.message.app, priority: claim.message.priority)
        defer { stay.end() }
        while true {
            if let deferral = self.interruption(of: claim) { return .deferred(claim, deferral) }
            switch try await self.next(of: claim, exclusive: isExclusive, retry: retry) {
            case .end(let end): return end
            case .goOn(let next, let waiting, let hasCommitted):
                claim = next
                if next.work != nil { LogContext.set(jobs: next.traces) }
                if hasCommitted { stay.end() }
                if let waiting {
                    guard let pause = stay.prolong(waiting.pause) else { return .deferred(claim, waiting) }
                    try await Task.sleep(for: pause)
                }
            }
            isExclusive = false
            if extended.duration(to: .now) > WorkQueue.send.lease / 4 {
                let current = claim
                guard try await retry.run({ try await self.store.extend(current) }) else { return .lost }
                extended = .now
            }
        }
    }

    /// Why a message is to be deferred before its next slice, if it is.
    private func interruption(of claim: FanOutClaim) -> Deferral? {
        // Due at once: another send worker takes over without waiting for the lease.
        if Task.isShuttingDownGracefully { return Deferral() }
        return self.pauses.reason(.send, app: claim.message.app).map { Deferral(reason: $0) }
    }

    private func next(of claim: FanOutClaim, exclusive: Bool, retry: StoreRetry) async throws -> Next {
        do {
            let advance = try await self.slice(of: claim, exclusive: exclusive)
            switch advance.progress {
            case .done: return .end(.nothing)
            case .lost: return .end(.lost)
            case .more(let next, let pause):
                let waiting = pause > .zero ? Deferral(pause: pause) : nil
                return .goOn(next, waiting: waiting, hasCommitted: advance.hasCommitted)
            case .blocked(let next, let services, let pause):
                let isContinued = next.hasBegun(services)
                let waiting = Deferral(pause: pause, blockedOn: services, isContinued: isContinued)
                return .goOn(next, waiting: waiting, hasCommitted: advance.hasCommitted)
            }
        } catch let error as HubError where error.kind == .refused {
            retry.logger.warning("The hub rejected a send", metadata: ["error": "\(error)"])
            try await self.giveUp(claim, reason: error.message, retry: retry)
            return .end(.nothing)
        } catch let error as HubError {
            retry.logger.warning("The hub failed; fan-out waits and tries again", metadata: ["error": "\(error)"])
            return .goOn(claim, waiting: Deferral(pause: .seconds(2)), hasCommitted: false)
        } catch let error as StoreError where error.mayPass {
            retry.logger.warning("Store writes fail; fan-out waits", metadata: ["error": "\(error)"])
            // The slice's progress is unknown here; the next claim reads it from the store.
            return .end(.deferred(claim, Deferral(pause: .seconds(1))))
        } catch let error as StoreError {
            try await self.splitUnreadable(claim.message.id, error, retry: retry)
            return .end(.nothing)
        }
    }

    /// Continues a message, and sends the events of answered jobs.
    func slice(of claim: FanOutClaim, exclusive: Bool) async throws -> Advance {
        guard let spec = try await self.apps.spec(of: claim.message.app) else {
            throw HubError(.refused, "the app is not declared")
        }
        let (priority, app) = (claim.message.priority, claim.message.app)
        let work = {
            let advance = { try await self.advance(claim, spec: spec) }
            return exclusive
                ? try await self.slices.exclusively(priority, advance)
                : try await self.slices.withPermit(priority, tenant: app, advance)
        }
        // First its turn among those like it: a permit that waits for that would be missing to others.
        let advance =
            claim.isDear ? try await self.dearSlices.withPermit(priority, tenant: app, work) : try await work()
        await EventSender(broker: self.broker).notify(advance.answered.map { ($0.job, $0.waiter) })
        return advance
    }

    /// Continues a message for as long as a slice may take, as a span.
    private func advance(_ claim: FanOutClaim, spec: AppSpec) async throws -> Advance {
        let span = self.traces.begin("fan out", .internal, under: self.traces.current)
        return try await self.traces.within(span) {
            let advance = try await self.fanOut.advance(claim, spec: spec, budget: Self.slice)
            // A send that waits looks again and again.
            if !advance.hasCommitted { span?.discard() }
            return advance
        }
    }

    // MARK: Ends

    /// Gives a message back.
    ///
    /// - Returns: false when the claim is void.
    func deferMessage(_ claim: FanOutClaim, _ deferral: Deferral, retry: StoreRetry) async throws -> Bool {
        var kept = deferral
        // Credit ends the wait early; otherwise the pause is kept.
        kept.pause = deferral.blockedOn.isEmpty ? min(deferral.pause, Self.longestPause) : .zero
        let (message, final) = (claim.message, kept)
        let isDeferred = try await retry.run {
            try await self.store.defer(message.id, epoch: message.epoch, final)
        }
        CrashPoint.outboxDeferred.reach()
        return isDeferred
    }

    /// Ends the only send of a message.
    ///
    /// Several sends are split instead, because one of them may be the cause (rule 5).
    func giveUp(_ claim: FanOutClaim, reason: String, retry: StoreRetry) async throws {
        retry.logger.warning("A message cannot be fanned out", metadata: ["reason": "\(reason)"])
        let result = try await retry.run { try await self.store.commit(.abandon(reason: reason), of: claim) }
        if let only = claim.only { return await EventSender(broker: self.broker).notify(result.waiter, of: only) }
        try await Redeliveries(store: self.store, retry: retry).split(claim.message.id)
    }

    /// Splits a message with an unreadable send.
    ///
    /// - Throws: `error`, if the message has one send.
    func splitUnreadable(_ message: MessageID, _ error: StoreError, retry: StoreRetry) async throws {
        // It counts as redelivered: its way ends here, and begins again.
        let answer = try await retry.run { try await self.store.redelivered(message) }
        guard let answer else { return }
        guard answer.members > 1 else { throw error }
        retry.logger.warning(
            "A message cannot be read; its sends are split and go one by one",
            metadata: ["error": "\(error)"]
        )
        try await Redeliveries(store: self.store, retry: retry).split(message)
    }
}

extension FanOutResult {
    /// Of a send that is abandoned: see ``FanOutWritten/waiter``.
    fileprivate var waiter: String? {
        guard case .written(let written) = self else { return nil }
        return written.waiter
    }
}

extension FanOutClaim {
    /// Whether it is a campaign that has pages at one of these services.
    fileprivate func hasBegun(_ services: Set<PushService>) -> Bool {
        guard case .campaign(let campaign) = self.work else { return false }
        return campaign.cursors.contains { services.contains($0.pns) && $0.nextPage > 0 }
    }
}
