import Logging
import PushModel
import PushServices
import Store

extension DeliveryWorker {
    /// Sends batches of one app and push service, as far as the app's breaker lets them.
    ///
    /// In one round, mostly. A probe is small, and the rest follows in the next round where the service takes it; so does what was
    /// withdrawn because a batch was stopped that travelled with it.
    ///
    /// - Parameters:
    ///   - batches: At least one.
    ///   - spec: The app as it is declared now.
    ///   - logger: For an app that cannot send.
    /// - Returns: What became of each batch.
    func send(_ batches: [DeliverBatch], spec: AppSpec, logger: Logger) async -> [BatchOutcome] {
        let (app, pns) = (batches[0].app, batches[0].key.pns)
        var sending = BatchesToSend(batches, recording: spec.recording, retry: self.configuration.retry)
        sending.begin { self.inWork.stopCause(of: $0) }
        guard !sending.isOver else { return sending.outcomes }
        let sender: any PushSender
        do { sender = try self.senders.sender(app: app, pns: pns, spec: spec) } catch {
            logger.warning(
                "The app's sender cannot work; its batches wait",
                metadata: ["app": "\(app)", "push.service": "\(pns.rawValue)", "error": "\(error)"]
            )
            sending.settleStopped(reason: error.description)
            return sending.outcomes
        }
        let deadline = ContinuousClock.now.advanced(by: self.configuration.sendingTime)
        while !sending.isOver {
            let passage = self.breakers.enter(app, pns)
            if case .refused(let pause, let reason) = passage {
                sending.settleStopped(reason: reason, wait: pause)
                break
            }
            let groups = sending.take(atMost: passage == .probe ? self.configuration.breaker.probe : nil)
            let results = await self.send(groups, of: sending, through: sender, deadline: deadline)
            let rows = { groups.flatMap { sending.rows(of: $0) } }
            let areKept = await self.record(results.joined(), of: rows, as: passage, app, pns)
            let goesOn = ContinuousClock.now < deadline && !self.isHalted(app, pns)
            for (group, results) in zip(groups, results) {
                let answers = BatchesToSend.Answers(results: results, keepsTokens: areKept, isProbe: passage == .probe)
                sending.settle(group, answers, goesOn: goesOn) { self.inWork.stopCause(of: $0) }
            }
        }
        return sending.outcomes
    }

    /// Sends groups side by side.
    private func send(
        _ groups: [BatchesToSend.Group],
        of sending: BatchesToSend,
        through sender: any PushSender,
        deadline: ContinuousClock.Instant
    ) async -> [[DeviceResult]] {
        await withTaskGroup(of: (Int, [DeviceResult]).self) { sends in
            for (number, group) in groups.enumerated() {
                let keys = sending.keys(of: group)
                let (app, pns) = (sending.batches[0].app, keys[0].pns)
                let push = sending.push(group, deadline: deadline) {
                    // One that is stopped withdraws all: what is not sent of the others follows in the next round.
                    self.inWork.isAnyStopped(of: keys) || self.isHalted(app, pns)
                }
                sends.addTask { (number, await sender.send(push)) }
            }
            var results = Array(repeating: [DeviceResult](), count: groups.count)
            for await (number, result) in sends { results[number] = result }
            return results
        }
    }

    /// Whether nothing more of an app is to be sent to a service: the process is about to end, or the queue is paused.
    private func isHalted(_ app: AppID, _ pns: PushService) -> Bool {
        self.inWork.isDraining || self.pauses.reason(.deliver(pns), app: app) != nil
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
    private func record(
        _ results: some Sequence<DeviceResult>,
        of rows: () -> [Int64],
        as passage: Breaker.Passage,
        _ app: AppID,
        _ pns: PushService
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
}
