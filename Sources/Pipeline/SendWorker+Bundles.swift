import Broker
import FaultInjection
import Hub
import Logging
import PushModel
import ServiceLifecycle
import Store

// Bundles: small sends that are planned together (rules 4 and 15).
extension SendWorker {
    func handle(
        _ bundle: BundleID,
        _ delivery: Delivery,
        _ subscription: any Subscription,
        slices: WeightedGate,
        priority: Priority
    ) async throws {
        guard self.bundlesInWork.begin(bundle) else { return await subscription.acknowledge([delivery]) }
        defer { self.bundlesInWork.end(bundle) }
        var logger = self.logger
        logger[metadataKey: "push.bundle"] = "\(bundle)"
        let patience = StorePatience(logger: logger, limit: .seconds(30))
        var claim: BundleClaim?
        let app = delivery.app
        if let app, self.pauses.reason(.send, app: app) != nil {
            try await patience.run { try await self.store.hold(bundle) }
            return await subscription.acknowledge([delivery])
        }
        if delivery.deliveryCount == 0, let app {
            // Until its first commit the message is what brings the bundle back if this process dies.
            let kind = BundlesInWork.Kind(app: app, priority: priority)
            switch try await self.planUnclaimed(bundle, of: kind, slices: slices, patience: patience) {
            case .done, .lost: return await subscription.acknowledge([delivery])
            case .more(let begun, _): claim = begun.isHeld ? begun : nil
            case nil: break
            }
        }
        if claim == nil { claim = try await patience.run { try await self.store.claim(bundle, lease: Self.lease) } }
        CrashPoint.sendClaimed.reach()
        // From here on the claim's lease brings the bundle back if this process dies (rule 1).
        await subscription.acknowledge([delivery])
        CrashPoint.sendAcknowledged.reach()
        guard let claim else { return }
        if claim.claims > PoisonLimit.starts {
            // One of its jobs may kill its planners. Each for itself, it is found out (rule 5).
            logger.warning("A bundle was begun too often; its sends go one by one")
            return try await patience.run { try await self.store.takeApart(bundle) }
        }
        do {
            try await self.takeTurn(claim, isRepeat: delivery.deliveryCount > 0, slices: slices, patience: patience)
        } catch let error as HubError {
            logger.warning("The hub takes no bundle; its sends go one by one", metadata: ["error": "\(error)"])
            try await patience.run { try await self.store.takeApart(bundle) }
        } catch let error as StoreError where error.code != .unavailable {
            logger.warning("A bundle makes no sense; its sends go one by one", metadata: ["error": "\(error)"])
            try await patience.run { try await self.store.takeApart(bundle) }
        }
    }

    /// How long a bundle rests that found the line too long.
    private static let rest = Duration.seconds(1)

    /// Plans a bundle without a claim if it is its turn at once: one commit is enough for most.
    ///
    /// - Returns: How far it came; nil, or a claim that is not held, where it came nowhere, for whatever reason.
    private func planUnclaimed(
        _ bundle: BundleID,
        of kind: BundlesInWork.Kind,
        slices: WeightedGate,
        patience: StorePatience
    ) async throws -> BundleAdvance? {
        guard self.bundlesInWork.enterAtOnce(kind) else { return nil }
        defer { self.bundlesInWork.leave(kind) }
        do {
            let look = try await patience.run { try await self.store.look(at: bundle, devices: SmallSend.devices) }
            guard var claim = look else { return .lost }
            // Whoever claimed it before may have died of it: the claims are counted.
            guard claim.epoch == 0 else { return nil }
            let rooms = claim.glimpse?.rooms ?? [:]
            claim.stuck = self.bundlesInWork.note(kind, full: Set(rooms.filter(\.value.isFull).keys), of: rooms.keys)
            return try await self.slice(of: claim, alone: false, in: slices, patience: patience)
        } catch is HubError {
            return nil
        } catch let error as StoreError where error.code != .unavailable {
            return nil
        }
    }

    /// Plans a bundle when it is its turn among those of its app and priority.
    private func takeTurn(
        _ claim: BundleClaim,
        isRepeat: Bool,
        slices: WeightedGate,
        patience: StorePatience
    ) async throws {
        let kind = BundlesInWork.Kind(app: claim.bundle.app, priority: claim.bundle.priority)
        let began = ContinuousClock.now
        var claim = claim
        guard await self.bundlesInWork.enter(kind) else {
            // There are plenty of its kind before it: it comes again, and others find a place.
            let current = claim
            return try await patience.run { try await self.store.release(current, pause: Self.rest) }
        }
        defer { self.bundlesInWork.leave(kind) }
        // The wait may have been long; another planner has it then, perhaps.
        if began.duration(to: .now) > Self.lease / 4 {
            let current = claim
            guard try await patience.run({ try await self.store.extend(current, lease: Self.lease) }) else { return }
        }
        try await self.plan(&claim, isRepeat: isRepeat, slices: slices, patience: patience)
    }

    /// Advances a claimed bundle until all its sends are planned.
    private func plan(
        _ claim: inout BundleClaim,
        isRepeat: Bool,
        slices: WeightedGate,
        patience: StorePatience
    ) async throws {
        let kind = BundlesInWork.Kind(app: claim.bundle.app, priority: claim.bundle.priority)
        var extended = ContinuousClock.now
        var isAlone = isRepeat
        while true {
            let current = claim
            if Task.isShuttingDownGracefully {
                // Due at once: another planner takes over without waiting for the lease.
                return try await patience.run { try await self.store.release(current, pause: .zero) }
            }
            if self.pauses.reason(.send, app: current.bundle.app) != nil {
                return try await patience.run { try await self.store.hold(current.bundle.id) }
            }
            let pause: Duration
            switch try await self.slice(of: current, alone: isAlone, in: slices, patience: patience) {
            case .done, .lost: return
            case .more(let next, let after):
                (claim, pause) = (next, after)
                claim.stuck = self.bundlesInWork.note(kind, full: claim.blocked, of: claim.services)
            }
            isAlone = false
            if pause > .zero { try await Task.sleep(for: pause) }
            if extended.duration(to: .now) > Self.lease / 4 {
                guard try await patience.run({ try await self.store.extend(current, lease: Self.lease) }) else {
                    return
                }
                extended = .now
            }
        }
    }

    private func slice(
        of claim: BundleClaim,
        alone: Bool,
        in slices: WeightedGate,
        patience: StorePatience
    ) async throws -> BundleAdvance {
        guard let spec = try await patience.run({ try await self.apps.spec(of: claim.bundle.app) }) else {
            throw HubError(.refused, "the app is not declared")
        }
        let work = { try await self.hub.advance(claim, spec: spec, budget: Self.slice) }
        do {
            if alone { return try await slices.alone(work) }
            return try await slices.withPlace(claim.bundle.priority, work)
        } catch let error as HubError where error.code == .unavailable {
            return .more(claim, after: error.retryAfter ?? .seconds(2))
        } catch let error as StoreError where error.code == .unavailable {
            // What was written stands in the store, and the next slice goes on from there.
            return .more(claim, after: .seconds(1))
        }
    }
}
