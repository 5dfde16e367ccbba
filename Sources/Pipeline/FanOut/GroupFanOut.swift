import PushModel
import Store

/// Divides small sends of a group into batches and delivery messages, one service in each (rule 12).
struct GroupFanOut {
    private let message: OutboxMessage
    private let spec: AppSpec
    /// How many more devices of each service may be sent to.
    private var credit: [PushService: Int]
    /// How many of them of each credential that has a limit of its own.
    private var limits: [PushService: [CredentialName: Int]]
    /// Services that took nothing from the beginning.
    private let closed: Set<PushService>
    /// Credentials of the others that took nothing from the beginning.
    private let closedCredentials: [PushService: Set<CredentialName>]
    /// The delivery message of each service that is not full yet.
    private var open: [PushService: (index: Int, capacity: DeliveryMessage.Capacity)] = [:]

    private(set) var step = GroupStep()
    /// The contents of the step's delivery messages.
    private(set) var messages: [[PreparedDelivery]] = []
    /// The sends that have batches, or no target.
    private(set) var written: [SmallSend] = []
    /// Services that sends which were passed over wait for.
    private(set) var blocked: Set<PushService> = []

    init(_ message: OutboxMessage, credit: [PushService: Credit], spec: AppSpec) {
        self.message = message
        self.spec = spec
        self.credit = credit.mapValues(\.devices)
        self.closed = Set(credit.filter { $0.value.devices <= 0 }.keys)
        self.limits = credit.filter { !$0.value.limits.isEmpty }.mapValues { $0.limits.mapValues(\.devices) }
        self.closedCredentials = self.limits.mapValues { Set($0.filter { $0.value <= 0 }.keys) }
    }

    /// Whether there is not enough credit for a send's devices at a service.
    private func lacks(_ reach: SmallSend.Reach) -> Bool {
        guard reach.pns.isInService else { return false }
        guard reach.devices.count <= self.credit[reach.pns] ?? 0 else { return true }
        guard let limits = self.limits[reach.pns] else { return false }
        var count = DeviceCount()
        count.add(reach.devices.count, reach.devices.named)
        return limits.contains { credential, left in count[credential] > left }
    }

    /// Whether a send's devices at a service had no credit from the beginning.
    private func isClosed(_ reach: SmallSend.Reach) -> Bool {
        if self.closed.contains(reach.pns) { return true }
        guard let closed = self.closedCredentials[reach.pns], !closed.isEmpty else { return false }
        return reach.devices.rows.indices.contains { closed.contains(reach.devices.credentials[$0]) }
    }

    /// Looks at the next send.
    ///
    /// - Returns: false when the step ends before it, for the step has used up the credit that it needs.
    mutating func divide(_ send: SmallSend) -> Bool {
        guard case .all(let reaches) = send.audience else { return self.leaveAlone(send) }
        // Closures: a method by its name alone is a copy of all that is here.
        let lacking = reaches.filter { self.lacks($0) }
        if !lacking.isEmpty {
            guard lacking.contains(where: { self.isClosed($0) }) else {
                // Credit may grow in a moment; a send larger than all credit gets pages of its own.
                return self.step.sends.isEmpty ? self.leaveAlone(send) : false
            }
            // A send that also has a service with credit leaves the group: alone it has a cursor per service, so that
            // one full window blocks no other service.
            guard reaches.allSatisfy({ self.isClosed($0) }) else { return self.leaveAlone(send) }
            self.blocked.formUnion(lacking.map(\.pns))
            return true
        }
        guard let batches = self.batches(of: send, for: reaches) else { return self.leaveAlone(send) }
        self.add(batches, of: send)
        return true
    }

    private mutating func leaveAlone(_ send: SmallSend) -> Bool {
        self.step.sends.append(FanOutSend(sequence: send.sequence, decision: .ownMessage))
        return true
    }

    /// A batch for each service; nil if one cannot be delivered, because only a send alone can report the reason.
    private func batches(of send: SmallSend, for reaches: [SmallSend.Reach]) -> [DeliverBatch]? {
        let template = BatchTemplate(send, of: self.message, spec: self.spec)
        var batches: [DeliverBatch] = []
        for reach in reaches {
            let key = BatchKey(job: send.id, pns: reach.pns, page: 0, attempt: 0)
            guard case .deliverable(let batch) = template.prepare(key, devices: reach.devices) else { return nil }
            batches.append(batch)
        }
        return batches
    }

    private mutating func add(_ batches: [DeliverBatch], of send: SmallSend) {
        var pages: [SinglePage] = []
        for batch in batches {
            let (pns, size, named) = (batch.key.pns, batch.devices.count, batch.devices.named)
            let index = self.message(for: batch)
            self.messages[index].append(.deliverable(batch))
            self.credit[pns, default: 0] -= size
            if let limits = self.limits[pns] {
                var count = DeviceCount()
                count.add(size, named)
                self.limits[pns] = limits.reduce(into: [:]) { $0[$1.key] = $1.value - count[$1.key] }
            }
            pages.append(SinglePage(pns: pns, size: size, named: named, message: index))
        }
        self.step.sends.append(FanOutSend(sequence: send.sequence, decision: .batches(pages, through: send.through)))
        self.written.append(send)
    }

    /// A delivery message with the capacity for a batch.
    private mutating func message(for batch: DeliverBatch) -> Int {
        let pns = batch.key.pns
        if let begun = self.open[pns] {
            // A copy: to change it where it is costs three allocations.
            var capacity = begun.capacity
            if capacity.take(batch) {
                self.open[pns] = (begun.index, capacity)
                return begun.index
            }
        }
        var capacity = DeliveryMessage.Capacity()
        _ = capacity.take(batch)
        self.messages.append([])
        self.step.messages = self.messages.count
        self.open[pns] = (self.messages.count - 1, capacity)
        return self.messages.count - 1
    }
}
