package import Broker
import FaultInjection
package import Hub
package import Logging
package import PushModel
package import Store

/// The hub that Pushline brings along: registrations in the store, audiences read from it, deliveries by our own workers.
package struct EmbeddedHub: NotificationHub {
    /// What the hub keeps in the store.
    package typealias HubStore = BundleStore & OutcomeSink & PlanStore & RegistrationStore

    /// The pace of planning.
    package struct Configuration: Sendable {
        /// How long a batch may be with the broker and a worker before it is published again (rule 1).
        package var batchLease: Duration = .seconds(45 * 60)
        /// How long a planner may be silent before another takes its job over.
        package var plannerLease: Duration = .seconds(60)
        /// How long a batch waits for its planner's own publishing before the sweeper does it.
        package var grace: Duration = .seconds(30)
        /// How long publishing may take.
        package var publishDeadline: Duration = .seconds(10)
        /// How soon a planner looks again when its window is full.
        package var windowPause: Duration = .milliseconds(20)
        /// How soon it looks again when the broker takes nothing.
        package var brokerPause: Duration = .seconds(1)

        package init() {}
    }

    let store: any HubStore
    let broker: any MessageBroker
    let configuration: Configuration
    let logger: Logger
    let marks: ParcelMarks

    /// - Parameters:
    ///   - store: Where registrations and batches are.
    ///   - broker: Carries the batches to the delivery workers.
    ///   - configuration: The pace.
    ///   - logger: For degraded states.
    package init(
        store: any HubStore,
        broker: any MessageBroker,
        configuration: Configuration = Configuration(),
        logger: Logger
    ) {
        self.store = store
        self.broker = broker
        self.configuration = configuration
        self.logger = logger
        self.marks = ParcelMarks(store: store, lease: configuration.batchLease, logger: logger)
    }

    package func run() async { await self.marks.run() }

    package func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult {
        let now = self.store.steadyTime
        let expires = spec.registrationLifetimeDays.map { now.advanced(by: .seconds($0 * 86_400)) }
        do {
            return try await self.store.change(
                request,
                app: job.app,
                user: job.user,
                sequence: job.sequence,
                expires: expires,
                most: spec.registrationsPerUser ?? AppSpec.defaultRegistrationsPerUser
            )
        } catch let error as StoreError {
            throw HubError(.unavailable, error.message)
        }
    }

    package func advance(_ claim: PlannerClaim, spec: AppSpec, budget: Duration) async throws -> Advance {
        guard case .connected = await self.broker.status else {
            return .more(claim, after: self.configuration.brokerPause)
        }
        let end = ContinuousClock.now.advanced(by: budget)
        var claim = claim
        while true {
            var isBlocked = true
            /// When there is room in the first of the lanes.
            var room: Duration?
            for index in claim.lanes.indices where !claim.lanes[index].isDone {
                switch try await self.planLane(index, of: claim, spec: spec) {
                case .full(let wait): room = min(room ?? wait, wait)
                case .lost: return .lost
                case .planned: return .done
                case .wrote(let next, let wasPublished):
                    claim = next
                    isBlocked = false
                    if !wasPublished { return .more(claim, after: self.configuration.brokerPause) }
                }
            }
            if isBlocked, let room {
                return .full(claim, of: claim.lanes.filter { !$0.isDone }.map(\.pns), after: room)
            }
            if ContinuousClock.now >= end { return .more(claim, after: .zero) }
        }
    }

    package func resume(_ batches: [DueBatch], specs: [AppID: AppSpec]) async throws {
        var messages: [(message: OutgoingMessage, key: BatchKey)] = []
        var memories: [JobID: AudienceMemory] = [:]
        for batch in batches {
            let spec = specs[batch.app] ?? AppSpec()
            let memory = memories[batch.key.job] ?? AudienceMemory()
            memories[batch.key.job] = memory
            let devices = try await self.devices(of: batch, memory: memory)
            if let message = try await self.prepare(
                batch.key,
                devices: devices,
                job: batch.job,
                request: batch.request,
                spec: spec
            ) {
                messages.append((message, batch.key))
            }
        }
        _ = try await self.publish(messages, isRepeat: true)
    }

    // MARK: Planning

    private enum LaneStep {
        /// No room in the lane's window; look again after that time.
        case full(Duration)
        case lost
        case planned
        case wrote(PlannerClaim, wasPublished: Bool)
    }

    /// The most devices that are planned and published in one turn.
    private static let turn = 12 * DeliverBatch.maximumDevices

    /// Plans the next pages of a lane, as many as its window has room for.
    private func planLane(_ index: Int, of claim: PlannerClaim, spec: AppSpec) async throws -> LaneStep {
        var lane = claim.lanes[index]
        let job = claim.job
        let kind: FeedKind = lane.nextPage == 0 ? .first : .page
        let room = try await self.store.room(for: kind, app: job.app, pns: lane.pns, priority: job.priority)
        guard room.devices > 0 else { return .full(max(room.wait ?? .zero, self.configuration.windowPause)) }

        // No more in a turn than a few milliseconds' publishing, behind which an urgent send would wait.
        let limit = min(room.devices, Self.turn)
        let audience = try await self.store.audience(
            of: claim.request.audience,
            app: job.app,
            pns: lane.pns,
            after: lane.after,
            through: lane.through,
            limit: limit,
            memory: claim.memory
        )
        CrashPoint.planRead.reach()
        let pages = AudiencePages(audience, lane: lane)
        lane.nextPage += pages.pages.count
        lane.after = audience.scannedThrough
        lane.isDone = lane.after >= lane.through

        let step = PlanStep(batches: pages.pages.map(\.batch), lane: lane)
        let result = try await self.store.commit(
            step,
            of: claim,
            lease: self.configuration.plannerLease,
            grace: self.configuration.grace
        )
        switch result {
        case .lost: return .lost
        case .noRoom: return .full(self.configuration.windowPause)
        case .more, .planned: break
        }

        CrashPoint.planCommitted.reach()
        var messages: [(message: OutgoingMessage, key: BatchKey)] = []
        for page in pages.pages {
            let key = BatchKey(job: job.id, pns: lane.pns, page: page.batch.page, attempt: 0)
            if let message = try await self.prepare(
                key,
                devices: page.devices,
                job: job,
                request: claim.request,
                spec: spec
            ) {
                messages.append((message, key))
            }
        }
        let wasPublished = try await self.publish(messages, isRepeat: false)
        if result == .planned { return .planned }
        var lanes = claim.lanes
        lanes[index] = lane
        return .wrote(claim.with(lanes: lanes), wasPublished: wasPublished)
    }

    // MARK: Messages

    /// The message of a batch; nil when there is nothing to deliver and its outcome stands already.
    private func prepare(
        _ key: BatchKey,
        devices: DeliverBatch.Devices,
        job: Job,
        request: SendRequest,
        spec: AppSpec
    ) async throws -> OutgoingMessage? {
        let payload: NativePayload
        switch self.payload(for: key.pns, request: request, priority: job.priority, from: job.begins, spec: spec)
        {
        case .failure(let reason):
            try await self.settle(key, devices: devices, as: reason)
            return nil
        case .success(let formatted):
            payload = formatted
        }
        guard devices.count > 0 else {
            try await self.settle(key, devices: devices, as: Undeliverable(failure: .deregistered, reason: ""))
            return nil
        }
        let batch = DeliverBatch(
            app: job.app,
            key: key,
            priority: job.priority,
            expires: job.expires,
            keepUntil: request.keepUntil(from: job.begins),
            collapse: request.collapse,
            payload: payload,
            devices: devices
        )
        return OutgoingMessage(delivering: batch, traceparent: job.traceparent)
    }

    /// Publishes batches and says in the store which are at the broker; the sweeper sees to the others.
    ///
    /// - Parameters:
    ///   - batches: The batches.
    ///   - isRepeat: Their devices were not counted for the rate limit when they were planned, or are sent to again.
    /// - Returns: Whether all are.
    /// - Throws: `StoreError`.
    private func publish(
        _ batches: [(message: OutgoingMessage, key: BatchKey)],
        isRepeat: Bool
    ) async throws -> Bool {
        guard !batches.isEmpty else { return true }
        let results = await self.broker.publish(batches.map(\.message), deadline: self.configuration.publishDeadline)
        CrashPoint.planPublished.reach()
        let published = zip(batches, results).filter { $0.1.isPublished }.map(\.0.key)
        if published.count < batches.count {
            self.logger.debug(
                "Batches wait for the broker",
                metadata: ["push.batches": "\(batches.count - published.count)"]
            )
        }
        if !published.isEmpty {
            try await self.store.markPublished(
                batches: published,
                lease: self.configuration.batchLease,
                isRepeat: isRepeat
            )
        }
        CrashPoint.planMarked.reach()
        return published.count == batches.count
    }

    /// Records an outcome for devices that cannot be delivered to at all.
    private func settle(_ key: BatchKey, devices: DeliverBatch.Devices, as fault: Undeliverable) async throws {
        let failures = devices.rows.map { row in
            DeviceFailure(row: row, failure: fault.failure, status: 0, reason: fault.reason)
        }
        // False means that a worker was faster: then its outcome counts.
        _ = try await self.store.record(BatchOutcome(key: key, failures: failures, at: .now))
    }

    /// The devices of a batch that is published again: those of its range, or those that were carried.
    private func devices(of batch: DueBatch, memory: AudienceMemory) async throws -> DeliverBatch.Devices {
        var devices = DeliverBatch.Devices()
        if batch.key.attempt == 0 {
            let page = try await self.store.wholeAudience(
                of: batch.request.audience,
                app: batch.app,
                pns: batch.key.pns,
                after: batch.from,
                through: batch.to,
                memory: memory
            )
            (devices.rows, devices.handles) = (page.rows, page.handles)
            return devices
        }
        let handles = try await self.store.handles(
            of: batch.carried.map(\.row),
            in: batch.request.audience,
            app: batch.app,
            pns: batch.key.pns,
            memory: memory
        )
        for device in batch.carried {
            devices.rows.append(device.row)
            // No handle: the device was deregistered, or belongs to another audience now. The worker counts it.
            devices.handles.append((handles[device.row]?.text ?? "").utf8)
            devices.tries.append(UInt8(clamping: device.tries))
            devices.waits.append(UInt32(clamping: max(.zero, device.wait - batch.overdue).milliseconds))
        }
        return devices
    }
}

/// Why a whole page cannot be delivered, and how its devices count.
struct Undeliverable: Error, Equatable {
    let failure: FailureClass
    let reason: String
}

extension PlannerClaim {
    fileprivate func with(lanes: [PlanLane]) -> PlannerClaim {
        PlannerClaim(
            job: self.job,
            request: self.request,
            epoch: self.epoch,
            lanes: lanes,
            waiter: self.waiter,
            claims: self.claims,
            memory: self.memory
        )
    }
}

extension SendRequest {
    /// Until when push services are to keep it.
    func keepUntil(from begin: Timestamp) -> Timestamp? {
        self.timeToLive.map { $0 == .zero ? DeliverBatch.nowOrNever : begin.advanced(by: $0) }
    }
}
