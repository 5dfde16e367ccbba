import Hub
import Logging
import PushModel
import PushServices
import Store

extension DeliveryWorker {
    /// Sends batches of one app and push service, with each of the app's credentials beside the others.
    ///
    /// - Parameters:
    ///   - batches: At least one.
    ///   - spec: The app's present declaration.
    ///   - logger: For an app that cannot send.
    /// - Returns: The outcome of each batch.
    func send(_ batches: [DeliverBatch], spec: AppSpec, logger: Logger) async -> [BatchOutcome] {
        let pns = batches[0].key.pns
        self.breakers.declare(spec.credentials.names(of: pns), of: batches[0].app, pns)
        let shares = DeliveryShare.divide(batches)
        guard shares.count > 1 else { return await self.send(batches, shares[0], spec: spec, logger: logger) }
        return await withTaskGroup(of: [BatchOutcome].self) { sends in
            for share in shares {
                sends.addTask { await self.send(batches, share, spec: spec, logger: logger) }
            }
            var outcomes = await sends.next() ?? []
            for await others in sends {
                for (index, other) in others.enumerated() { outcomes[index].add(other) }
            }
            return outcomes
        }
    }

    /// Sends the devices of one credential, as far as its breaker lets them.
    ///
    /// Usually in one round. A probe is small, and the rest follows in the next round if the service accepts it; so do
    /// devices withdrawn by the stop of another batch of the message.
    private func send(
        _ batches: [DeliverBatch],
        _ share: DeliveryShare,
        spec: AppSpec,
        logger: Logger
    ) async -> [BatchOutcome] {
        let (app, pns) = (batches[0].app, batches[0].key.pns)
        let breaker =
            spec.azureHub == nil
            ? Breakers.Key(app: app, pns: pns, credential: share.credential) : .hub(of: app)
        var sending = DeliveryProgress(
            batches,
            share: share,
            recording: spec.recording,
            retry: self.configuration.retry,
            isAtHub: spec.azureHub != nil
        )
        sending.begin { self.inProgress.stopCause(of: $0) }
        guard !sending.isOver else { return sending.outcomes }
        guard let sender = self.sender(for: &sending, pns, breaker, spec: spec, logger: logger) else {
            return sending.outcomes
        }
        let deadline = ContinuousClock.now.advanced(by: self.configuration.sendingTime)
        while !sending.isOver {
            let permission = self.breakers.enter(breaker)
            if case .rejected(let pause, let reason) = permission {
                sending.addStopped(reason: reason, wait: pause)
                break
            }
            await self.send(&sending, through: sender, at: pns, as: permission, breaker, deadline: deadline)
        }
        return sending.outcomes
    }

    /// The sender of a credential; nil if there is none, and no device can be sent to now.
    private func sender(
        for sending: inout DeliveryProgress,
        _ pns: PushService,
        _ breaker: Breakers.Key,
        spec: AppSpec,
        logger: Logger
    ) -> (any PushSender)? {
        let (app, credential) = (breaker.app, breaker.credential)
        if let hub = spec.azureHub { return self.caller(for: &sending, of: app, hub, logger: logger) }
        guard credential == .default || spec.credentials[pns, credential] != nil else {
            // As where the app has none for the service at all: declared later it is too late for this send.
            let name = "the app declares no \(pns.rawValue) credential \"\(credential)\" any more"
            sending.addFailed(.misconfigured, reason: "\(name); declare it with pushline apps apply")
            return nil
        }
        // Each of the app's credentials has faults of its own.
        let faulty = "\(app) \(pns.rawValue) \(credential)"
        do {
            let sender = try self.senders.sender(app: app, pns: pns, credential: credential, spec: spec)
            self.senderFaults.clear(faulty)
            return WatchedSender(
                sender: sender,
                registry: self.senders,
                watch: self.watch,
                app: app,
                pns: pns,
                credential: credential,
                logger: logger
            )
        } catch {
            // Each batch and each try would say the same.
            if self.senderFaults.isNew(error.description, of: faulty) {
                logger.warning(
                    "The app's sender cannot be made; its batches wait",
                    metadata: ["app": "\(app)", "service": "\(pns.rawValue)", "error": "\(error)"]
                )
            }
            sending.addStopped(reason: WaitReason(unusableCredentialsAt: pns, with: credential))
            return nil
        }
    }

    /// The sender to an app's hub over a wire; nil if its declaration cannot be used now.
    private func caller(
        for sending: inout DeliveryProgress,
        of app: AppID,
        _ hub: AppSpec.AzureHub,
        logger: Logger
    ) -> (any PushSender)? {
        let faulty = "\(app) hub"
        do throws(HubError) {
            let caller = try self.hubs.caller(hub, of: app)
            self.senderFaults.clear(faulty)
            return caller
        } catch {
            if self.senderFaults.isNew(error.description, of: faulty) {
                logger.warning(
                    "The app's hub cannot be asked; its batches wait",
                    metadata: ["app": "\(app)", "error": "\(error)"]
                )
            }
            sending.addStopped(reason: .unusableHub)
            return nil
        }
    }

    /// Sends one round: all that is open, or a probe of it.
    private func send(
        _ sending: inout DeliveryProgress,
        through sender: any PushSender,
        at pns: PushService,
        as permission: Breaker.Permission,
        _ breaker: Breakers.Key,
        deadline: ContinuousClock.Instant
    ) async {
        let groups = sending.take(atMost: permission == .probe ? self.configuration.breaker.probe : nil)
        let results = await self.send(groups, of: sending, through: sender, deadline: deadline)
        let isDry = groups.map { sending.isDryRun($0) }
        let real = groups.indices.filter { !isDry[$0] }
        let dry = groups.indices.filter { isDry[$0] }.flatMap { results[$0].evidenceOfDryRun(at: pns) }
        // The dry ones last: none of them calls a token bad, and the devices are those of the others.
        let answers = (real.map { results[$0] } + [dry]).joined()
        let progress = sending
        let devices = { real.flatMap { progress.devices(of: groups[$0]) } }
        let areKept = await self.record(answers, of: devices, as: permission, breaker)
        let goesOn = ContinuousClock.now < deadline && !self.isHalted(breaker.app, pns)
        for (index, group) in groups.enumerated() {
            let answers = DeliveryProgress.Answers(
                results: results[index],
                keepsTokens: areKept && !isDry[index],
                isProbe: permission == .probe
            )
            sending.add(group, answers, goesOn: goesOn) { self.inProgress.stopCause(of: $0) }
        }
        // It proved nothing, and each further round would be such a probe: the breaker waits for another message.
        if permission == .probe, answers.isEmpty {
            sending.addStopped(
                reason: WaitReason("\(pns.descriptor.title) failed, and a dry run does not show whether it still does")
            )
        }
    }

    /// Sends groups side by side.
    private func send(
        _ groups: [DeliveryProgress.Group],
        of sending: DeliveryProgress,
        through sender: any PushSender,
        deadline: ContinuousClock.Instant
    ) async -> [[DeviceResult]] {
        await withTaskGroup(of: (Int, [DeviceResult]).self) { sends in
            for (number, group) in groups.enumerated() {
                let keys = sending.keys(of: group)
                let (app, pns) = (sending.batches[0].app, keys[0].pns)
                let push = sending.push(group, deadline: deadline) {
                    // Stopping one batch withdraws all: unsent devices of the others follow in the next round.
                    self.inProgress.isAnyStopped(of: keys) || self.isHalted(app, pns)
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
        self.inProgress.isDraining || self.pauses.reason(.deliver(pns), app: app) != nil
    }

    /// Reports the results of a send to the breaker.
    ///
    /// - Parameters:
    ///   - results: The results.
    ///   - devices: The devices, in the same order; read if their owners matter.
    ///   - permission: The breaker's permission for the send.
    ///   - breaker: The breaker.
    /// - Returns: Whether the tokens that these results call bad are to be doubted.
    private func record(
        _ results: some Sequence<DeviceResult>,
        of devices: () -> [(row: Int64, handle: Handle)],
        as permission: Breaker.Permission,
        _ breaker: Breakers.Key
    ) async -> Bool {
        var statistics = SendStatistics(results, of: breaker.pns, breaker.credential)
        if !statistics.deadAt.isEmpty || !statistics.failedAt.isEmpty {
            let devices = devices()
            do {
                statistics.owners = try await self.owners(of: statistics.deadAt.map { devices[$0] })
                statistics.failedOwners = try await self.owners(of: statistics.failedAt.map { devices[$0] })
            } catch {
                // Each counts for itself then: the breaker opens sooner, and nothing is pruned that would not be.
                self.logger.debug("Reading the users of devices failed", metadata: ["error": "\(error)"])
            }
        }
        return self.breakers.record(statistics, as: permission, breaker)
    }

    /// Whom tokens count for: the users of live registrations, and each handle of a list for itself.
    private func owners(of devices: [(row: Int64, handle: Handle)]) async throws -> [TokenOwner?] {
        var owners: [TokenOwner?] = []
        var rows: [Int64] = []
        for device in devices {
            if Recipient.place(of: device.row) == nil {
                rows.append(device.row)
            } else {
                owners.append(.listed(device.handle))
            }
        }
        if !rows.isEmpty { owners += try await self.store.users(ofLive: rows).map { $0.map(TokenOwner.user) } }
        return owners
    }
}

extension [DeviceResult] {
    /// The results of a dry run that say something about the service: its answers, but for those about tokens, which all are kept.
    func evidenceOfDryRun(at pns: PushService) -> [DeviceResult] {
        guard pns.descriptor.validatesDryRuns else { return [] }
        return self.filter { if case .dead = $0 { false } else { true } }
    }
}
