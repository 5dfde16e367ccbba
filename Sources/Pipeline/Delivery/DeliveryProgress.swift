import PushModel
import PushServices
import Store

/// The batches of a message in delivery: the devices still to be tried, and the outcomes of the others.
struct DeliveryProgress {
    /// Devices of one batch that are to be tried.
    struct Portion: Equatable {
        /// The batch's place among all.
        let batch: Int
        /// Their places in the batch.
        var devices: [Int]
    }

    /// The contents of one ``PushRequest``: portions of batches whose requests have the same fields.
    typealias Group = [Portion]

    /// The results for a group.
    struct Answers {
        /// One for each device, in the group's order.
        let results: [DeviceResult]
        /// Whether tokens that they call bad are not believed to be.
        let keepsTokens: Bool
        /// Whether it was a breaker's probe.
        let isProbe: Bool
    }

    let batches: [DeliverBatch]
    private let share: DeliveryShare
    private var builders: [OutcomeBuilder]
    /// The devices still to be tried.
    private(set) var rest: [Portion] = []

    /// - Parameters:
    ///   - batches: The batches.
    ///   - share: Which of their devices.
    ///   - recording: Which devices are listed one by one.
    ///   - retry: The waits of retries.
    ///   - isAtHub: Whether they go to the app's hub over a wire.
    init(
        _ batches: [DeliverBatch],
        share: DeliveryShare = DeliveryShare(credential: .default, devices: nil),
        recording: AppSpec.Recording,
        retry: RetryPolicy,
        isAtHub: Bool = false
    ) {
        self.batches = batches
        self.share = share
        self.builders = batches.map { OutcomeBuilder($0, recording: recording, retry: retry, isAtHub: isAtHub) }
    }

    /// Whether each device has its outcome.
    var isOver: Bool { self.rest.isEmpty }

    var outcomes: [BatchOutcome] { self.builders.map { $0.outcome() } }

    func keys(of group: Group) -> [BatchKey] { group.map { self.batches[$0.batch].key } }

    /// Whether no device of a group is to get anything.
    func isDryRun(_ group: Group) -> Bool { self.batches[group[0].batch].isDryRun }

    /// A group's devices, in its order: the number that names each, and where it is reached.
    func devices(of group: Group) -> [(row: Int64, handle: Handle)] {
        group.flatMap { portion in
            let devices = self.batches[portion.batch].devices
            return portion.devices.map { (devices.rows[$0], devices.handles.handle(at: $0)) }
        }
    }

    /// Adds devices that are not to be tried now to the outcomes; the others are tried.
    mutating func begin(stop: (BatchKey) -> StopCause?) {
        for (index, batch) in self.batches.enumerated() {
            let devices = self.builders[index].addUntried(of: self.share.devices?[index], stop: stop(batch.key))
            if !devices.isEmpty { self.rest.append(Portion(batch: index, devices: devices)) }
        }
    }

    /// Adds the rest, which cannot be sent at all now, to the outcomes.
    ///
    /// - Parameters:
    ///   - reason: What it waits for.
    ///   - wait: How long at least; it grows with each attempt.
    mutating func addStopped(reason: WaitReason, wait: Duration? = nil) {
        for portion in self.rest {
            self.builders[portion.batch].addStopped(portion.devices, reason: reason, wait: wait)
        }
        self.rest = []
    }

    /// Adds the rest, which can never be sent, to the outcomes.
    mutating func addFailed(_ failure: FailureClass, reason: String) {
        for portion in self.rest {
            self.builders[portion.batch].addFailed(portion.devices, failure, reason: reason)
        }
        self.rest = []
    }

    /// Takes the devices of the next round.
    ///
    /// - Parameter limit: The most devices, over all groups; nil = all.
    /// - Returns: The groups to send together.
    mutating func take(atMost limit: Int?) -> [Group] {
        let taken: [Portion]
        if let limit {
            taken = self.takeFirst(limit)
        } else {
            (taken, self.rest) = (self.rest, [])
        }
        guard taken.count > 1 else { return [taken] }
        return Array(Dictionary(grouping: taken) { SharedFields(self.batches[$0.batch]) }.values)
    }

    private mutating func takeFirst(_ limit: Int) -> [Portion] {
        // Dry runs last: they prove little or nothing.
        self.rest = self.rest.filter { !self.isDryRun([$0]) } + self.rest.filter { self.isDryRun([$0]) }
        var (taken, left) = ([Portion](), limit)
        while left > 0, let next = self.rest.first {
            let devices = Array(next.devices.prefix(left))
            taken.append(Portion(batch: next.batch, devices: devices))
            left -= devices.count
            if devices.count == next.devices.count {
                self.rest.removeFirst()
            } else {
                self.rest[0].devices.removeFirst(devices.count)
            }
        }
        return taken
    }

    /// Adds the results of a group to the outcomes.
    ///
    /// - Parameters:
    ///   - group: The devices.
    ///   - answers: The results.
    ///   - goesOn: Whether another round may follow.
    ///   - stop: The cause of a batch's stop, if any. Unsent devices of the other batches are left for the next round.
    mutating func add(_ group: Group, _ answers: Answers, goesOn: Bool, stop: (BatchKey) -> StopCause?) {
        let stops = group.map { stop(self.batches[$0.batch].key) ?? self.builders[$0.batch].withdrawn }
        let isWithdrawn = goesOn && stops.contains { $0 != nil }
        var results = answers.results[...]
        for (portion, stop) in zip(group, stops) {
            let own = results.prefix(portion.devices.count)
            results = results.dropFirst(own.count)
            var (sent, withdrawn) = (portion, Portion(batch: portion.batch, devices: []))
            if isWithdrawn, stop == nil {
                withdrawn.devices = zip(portion.devices, own).filter(\.1.isUnsent).map(\.0)
                sent.devices = zip(portion.devices, own).filter { !$0.1.isUnsent }.map(\.0)
            }
            if !withdrawn.devices.isEmpty { self.rest.append(withdrawn) }
            self.builders[portion.batch].add(
                sent.devices,
                withdrawn.devices.isEmpty ? own : own.filter { !$0.isUnsent }[...],
                stop: stop,
                keepsTokens: answers.keepsTokens,
                isProbe: answers.isProbe
            )
        }
    }
}

// MARK: Requests for the push services

extension DeliveryProgress {
    /// The fields that batches must share to be sent as one request.
    private struct SharedFields: Hashable {
        let kind: NativePayload.Kind
        let headers: [NativePayload.Header]
        let keepUntil: Timestamp?
        let collapse: String?
        let isDryRun: Bool

        init(_ batch: DeliverBatch) {
            self.kind = batch.payload.kind
            self.headers = batch.payload.headers
            self.keepUntil = batch.keepUntil
            self.collapse = batch.collapse
            self.isDryRun = batch.isDryRun
        }
    }

    /// The request for a group.
    ///
    /// - Parameters:
    ///   - group: The devices.
    ///   - deadline: The latest end of the send.
    ///   - isStopped: Whether unsent requests are to be withdrawn.
    /// - Returns: The request.
    func push(
        _ group: Group,
        deadline: ContinuousClock.Instant,
        isStopped: @escaping @Sendable () -> Bool
    ) -> PushRequest {
        let first = self.batches[group[0].batch]
        let isWithdrawn = group.contains { self.builders[$0.batch].withdrawn != nil }
        var push = PushRequest(
            payload: first.payload,
            job: first.key.job,
            priority: first.priority,
            keepUntil: first.keepUntil,
            collapse: first.collapse,
            // A page of a campaign is handed over as it is.
            devices: first.devices,
            indexes: group[0].devices,
            deadline: deadline,
            isStopped: { isWithdrawn || isStopped() }
        )
        push.isDryRun = first.isDryRun
        if group.count > 1 { self.merge(group, into: &push) }
        return push
    }

    private func merge(_ group: Group, into push: inout PushRequest) {
        var devices = DeliverBatch.Devices()
        for portion in group {
            let batch = self.batches[portion.batch]
            for index in portion.devices {
                devices.rows.append(batch.devices.rows[index])
                devices.handles.append(batch.devices.handles[index])
                push.messageOf.append(push.messages.count)
            }
            push.messages.append(PushRequest.Message(job: batch.key.job, body: batch.payload.body))
        }
        push.devices = devices
        push.indexes = Array(0..<devices.count)
    }
}

extension DeviceResult {
    fileprivate var isUnsent: Bool {
        if case .unsent = self { true } else { false }
    }
}
