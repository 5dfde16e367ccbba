import Logging
import PushModel
import PushServices
import Store

// Batches that travel by themselves.
extension DeliveryWorker {
    /// Sends a batch, as far as its app's breaker lets it.
    func deliver(_ batch: DeliverBatch, spec: AppSpec, logger: Logger) async -> BatchOutcome {
        var tally = OutcomeTally(batch, recording: spec.recording, retry: self.configuration.retry)
        let stop = { @Sendable in self.inWork.stopCause(of: batch.key) }
        let toTry = tally.settleUntried(stop: stop())
        guard !toTry.isEmpty else { return tally.outcome() }
        let (app, pns) = (batch.app, batch.key.pns)
        let sender: any PushSender
        do { sender = try self.senders.sender(app: app, pns: pns, spec: spec) } catch {
            logger.warning(
                "The app's sender cannot work; the batch waits",
                metadata: ["app": "\(app)", "push.service": "\(pns.rawValue)", "error": "\(error)"]
            )
            tally.settleStopped(toTry, reason: error.description)
            return tally.outcome()
        }
        let deadline = ContinuousClock.now.advanced(by: self.configuration.sendingTime)
        var rest = toTry[...]
        while !rest.isEmpty {
            let passage = self.breakers.enter(app, pns)
            if case .refused(let pause, let reason) = passage {
                tally.settleStopped(Array(rest), reason: reason, wait: pause)
                break
            }
            // A probe is small, and the rest follows where the service takes it.
            let part = Array(passage == .probe ? rest.prefix(self.configuration.breaker.probe) : rest)
            rest = rest.dropFirst(part.count)
            let results = await sender.send(self.push(batch, part, deadline: deadline, stop: stop))
            let rows = { part.map { batch.devices.rows[$0] } }
            let areKept = await self.record(results, of: rows, as: passage, app, pns)
            tally.settle(part, results, stop: stop(), keepsTokens: areKept, isProbe: passage == .probe)
        }
        return tally.outcome()
    }

    /// Tells the breaker what came of a send.
    ///
    /// - Parameters:
    ///   - results: What became of each device.
    ///   - rows: The registrations of those, in the same order; asked for where tokens are called bad.
    ///   - passage: What the breaker has let through.
    ///   - app: The app.
    ///   - pns: The service.
    /// - Returns: Whether the tokens that these results call bad are not to be believed.
    func record(
        _ results: some Sequence<DeviceResult>,
        of rows: () -> [Int64],
        as passage: Breaker.Passage,
        _ app: AppID,
        _ pns: PNS
    ) async -> Bool {
        var observation = Observation(results, of: pns)
        if observation.dead > 0 {
            let rows = rows()
            do { observation.owners = try await self.store.users(ofLive: observation.deadAt.map { rows[$0] }) } catch {
                // Each counts for itself then: the breaker opens sooner, and nothing is pruned that would not be.
                self.logger.debug("Cannot look up the users of rejected tokens", metadata: ["error": "\(error)"])
            }
        }
        return self.breakers.record(observation, as: passage, app, pns)
    }

    private func push(
        _ batch: DeliverBatch,
        _ indexes: [Int],
        deadline: ContinuousClock.Instant,
        stop: @escaping @Sendable () -> StopCause?
    ) -> PushBatch {
        PushBatch(
            payload: batch.payload,
            job: batch.key.job,
            priority: batch.priority,
            keepUntil: batch.keepUntil,
            collapse: batch.collapse,
            devices: batch.devices,
            indexes: indexes,
            deadline: deadline,
            isStopped: {
                stop() != nil || self.inWork.isDraining
                    || self.pauses.reason(.deliver(batch.key.pns), app: batch.app) != nil
            }
        )
    }
}
