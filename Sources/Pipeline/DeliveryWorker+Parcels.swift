import Broker
import FaultInjection
import Logging
import PushModel
import PushServices
import Store

// Parcels: small batches that travel together. Each has its own key, fence and outcome.
extension DeliveryWorker {
    func handle(
        _ id: ParcelID,
        _ delivery: Delivery,
        _ subscription: any Subscription,
        queue: String
    ) async throws {
        var logger = self.logger
        logger[metadataKey: "push.parcel"] = "\(id)"
        let patience = StorePatience(logger: logger)
        if delivery.deliveryCount > 0 {
            // One of its batches may have ended a process. Each for itself, it is found out, and no other suffers (rule 5).
            try await patience.run { try await self.store.takeApart(id) }
            return await subscription.acknowledge([delivery])
        }
        let parcel: DeliverParcel
        do { parcel = try DeliverParcel(decoding: delivery.body) } catch {
            return try await self.bury(delivery, subscription, queue: queue, reason: error.description)
        }
        CrashPoint.deliverTaken.reach()
        let keys = parcel.batches.map(\.key)
        let standings = try await patience.run { try await self.store.standing(of: keys, in: id) }
        // What is closed, or goes as a message of its own, is not begun.
        let begun = self.inWork.begin(parcel.batches, standings: standings)
        let begunKeys = begun.map { keys[$0] }
        do {
            let places = begun.map { standings[$0].place }
            try await self.work(on: begun.map { parcel.batches[$0] }, at: places, patience: patience, logger: logger)
        } catch {
            await self.end(begunKeys, after: error)
            throw error
        }
        // Copies that came meanwhile stand for the same work.
        await self.end(begunKeys, after: nil)
        await subscription.acknowledge([delivery])
    }

    /// Sends batches and records their outcomes.
    private func work(
        on batches: [DeliverBatch],
        at places: [BatchPlace?],
        patience: StorePatience,
        logger: Logger
    ) async throws {
        guard let first = batches.first else { return }
        let spec = try await patience.run { try await self.apps.spec(of: first.app) }
        CrashPoint.deliverBegun.reach()
        var outcomes = await self.deliver(batches, of: first, spec: spec ?? AppSpec(), logger: logger)
        for index in outcomes.indices { outcomes[index].place = places[index] }
        CrashPoint.deliverSent.reach()
        do {
            let areFirst = try await patience.run { try await self.store.record(together: outcomes) }
            CrashPoint.deliverRecorded.reach()
            for (outcome, isFirst) in zip(outcomes, areFirst) where isFirst { self.metrics.record(outcome) }
        } catch let error as StoreError {
            logger.warning("Outcomes cannot be recorded together", metadata: ["error": "\(error)"])
            for outcome in outcomes { try await self.record(outcome, patience: patience, logger: logger) }
        }
    }

    /// Records one outcome of several; where the store can make no sense of it, its batch stays open and comes again.
    private func record(_ outcome: BatchOutcome, patience: StorePatience, logger: Logger) async throws {
        do {
            if try await patience.run({ try await self.store.record(outcome) }) { self.metrics.record(outcome) }
        } catch let error as StoreError {
            logger.error(
                "An outcome cannot be recorded",
                metadata: ["push.batch": "\(outcome.key)", "error": "\(error)"]
            )
        }
    }

    private func deliver(
        _ batches: [DeliverBatch],
        of first: DeliverBatch,
        spec: AppSpec,
        logger: Logger
    ) async -> [BatchOutcome] {
        var tallies = batches.map { OutcomeTally($0, recording: spec.recording, retry: self.configuration.retry) }
        var toTry: [(index: Int, devices: [Int])] = []
        for index in tallies.indices {
            let devices = tallies[index].settleUntried(stop: self.inWork.stopCause(of: batches[index].key))
            if !devices.isEmpty { toTry.append((index, devices)) }
        }
        guard !toTry.isEmpty else { return tallies.map { $0.outcome() } }
        let (app, pns) = (first.app, first.key.pns)
        let passage = self.breakers.enter(app, pns)
        if case .refused(let pause, let reason) = passage {
            for (index, devices) in toTry { tallies[index].settleStopped(devices, reason: reason, wait: pause) }
            return tallies.map { $0.outcome() }
        }
        do {
            let sender = try self.senders.sender(app: app, pns: pns, spec: spec)
            let deadline = ContinuousClock.now.advanced(by: self.configuration.sendingTime)
            let groups = Dictionary(grouping: toTry) { SharedFields(batches[$0.index]) }.values.map { group in
                (group, self.push(group, of: batches, deadline: deadline))
            }
            await withTaskGroup(of: (Int, [DeviceResult]).self) { sends in
                for (number, group) in groups.enumerated() {
                    let push = group.1
                    sends.addTask { (number, await sender.send(push)) }
                }
                var results = Array(repeating: [DeviceResult](), count: groups.count)
                for await (number, result) in sends { results[number] = result }
                let rows = { groups.flatMap(\.1.devices.rows) }
                let areKept = await self.record(results.joined(), of: rows, as: passage, app, pns)
                for (group, results) in zip(groups, results) {
                    var rest = results[...]
                    for (index, devices) in group.0 {
                        let stop = self.inWork.stopCause(of: batches[index].key)
                        let own = Array(rest.prefix(devices.count))
                        tallies[index].settle(
                            devices,
                            own,
                            stop: stop,
                            keepsTokens: areKept,
                            isProbe: passage == .probe
                        )
                        rest = rest.dropFirst(devices.count)
                    }
                }
            }
        } catch {
            self.breakers.leave(passage, app, pns)
            logger.warning(
                "The app's sender cannot work; the batches wait",
                metadata: ["app": "\(app)", "push.service": "\(pns.rawValue)", "error": "\(error)"]
            )
            for (index, devices) in toTry { tallies[index].settleStopped(devices, reason: error.description) }
        }
        return tallies.map { $0.outcome() }
    }

    /// What messages must have in common to be sent as one.
    private struct SharedFields: Hashable {
        let kind: NativePayload.Kind
        let keepUntil: Timestamp?
        let collapse: String?

        init(_ batch: DeliverBatch) {
            self.kind = batch.payload.kind
            self.keepUntil = batch.keepUntil
            self.collapse = batch.collapse
        }
    }

    /// The devices to try of several batches as one batch of several messages.
    private func push(
        _ group: [(index: Int, devices: [Int])],
        of batches: [DeliverBatch],
        deadline: ContinuousClock.Instant
    ) -> PushBatch {
        var devices = DeliverBatch.Devices()
        var messages: [PushBatch.Message] = []
        var messageOf: [Int] = []
        for (number, indexes) in group {
            for index in indexes {
                devices.rows.append(batches[number].devices.rows[index])
                devices.handles.append(batches[number].devices.handles[index])
                messageOf.append(messages.count)
            }
            messages.append(PushBatch.Message(job: batches[number].key.job, body: batches[number].payload.body))
        }
        let keys = group.map { batches[$0.index].key }
        let first = batches[group[0].index]
        var push = PushBatch(
            payload: first.payload,
            job: first.key.job,
            priority: first.priority,
            keepUntil: first.keepUntil,
            collapse: first.collapse,
            devices: devices,
            deadline: deadline,
            // One that is stopped withdraws all: what is not sent of the others goes out by itself.
            isStopped: {
                self.inWork.isDraining || self.inWork.isAnyStopped(of: keys)
                    || self.pauses.reason(.deliver(first.key.pns), app: first.app) != nil
            }
        )
        push.messages = messages
        push.messageOf = messageOf
        return push
    }
}
