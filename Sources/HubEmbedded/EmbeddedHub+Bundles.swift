import Broker
package import Hub
package import PushModel
package import Store

// Small sends, planned together: read, written and published in groups.
extension EmbeddedHub {
    package func advance(_ claim: BundleClaim, spec: AppSpec, budget: Duration) async throws -> BundleAdvance {
        let end = ContinuousClock.now.advanced(by: budget)
        var claim = claim
        repeat {
            guard case .connected = await self.broker.status else {
                return .more(claim, after: self.configuration.brokerPause)
            }
            // Looked at before anything is read: who waits for room costs little.
            let known = try await self.rooms(of: claim.services, bundle: claim.bundle)
            if let wait = known.wait { return .more(claim, after: wait) }
            let sends = try await self.store.smallSends(of: claim, devices: Self.smallSendDevices)
            claim.services = Set(sends.flatMap(\.services))
            let rooms = try await self.rooms(of: claim.services, bundle: claim.bundle)
            if let wait = rooms.wait { return .more(claim, after: wait) }
            var planner = BundlePlanner(hub: self, claim: claim, spec: spec, rooms: rooms.devices)
            for send in sends { guard planner.plan(send) else { break } }
            let result = try await self.store.commit(
                planner.plan,
                of: claim,
                lease: self.configuration.plannerLease,
                grace: self.configuration.grace
            )
            let lost: Set<Int64>
            let ids: [ParcelID?]
            switch result {
            case .lost: return .lost
            case .noRoom: return .more(claim, after: self.configuration.windowPause)
            case .written(let parcels, let left): (ids, lost) = (parcels, left)
            }
            claim = claim.held
            guard !sends.isEmpty else { return .done }
            let parcels = planner.parcels(without: lost)
            let written = zip(ids, parcels).compactMap { id, parcel in id.map { (id: $0, parcel: parcel) } }
            if await !self.publish(written) { return .more(claim, after: self.configuration.brokerPause) }
        } while ContinuousClock.now < end
        return .more(claim, after: .zero)
    }

    /// The most devices of a send that is planned together with others.
    private static let smallSendDevices = 100

    /// How many devices of each service may be fed now (rule 12), or how long to wait where one takes none.
    private func rooms(
        of services: Set<PNS>,
        bundle: SendBundle
    ) async throws -> (devices: [PNS: Int], wait: Duration?) {
        var devices: [PNS: Int] = [:]
        for pns in services where pns.isInService {
            let room = try await self.store.room(for: .first, app: bundle.app, pns: pns, priority: bundle.priority)
            guard room.devices > 0 else { return ([:], max(room.wait ?? .zero, self.configuration.windowPause)) }
            devices[pns] = room.devices
        }
        return (devices, nil)
    }

    /// Publishes parcels, and has those marked that are at the broker; the sweeper takes the others apart.
    ///
    /// - Returns: Whether all are.
    private func publish(_ parcels: [(id: ParcelID, parcel: DeliverParcel)]) async -> Bool {
        let messages = parcels.compactMap { id, parcel in
            OutgoingMessage(delivering: parcel, id: id).map { (id: id, message: $0) }
        }
        guard !messages.isEmpty else { return true }
        let results = await self.broker.publish(messages.map(\.message), deadline: self.configuration.publishDeadline)
        let published = zip(messages, results).filter { $0.1.isPublished }.map(\.0.id)
        self.marks.note(published)
        return published.count == messages.count
    }
}

/// Divides the batches of small sends into parcels, one service in each.
private struct BundlePlanner {
    private let hub: EmbeddedHub
    private let claim: BundleClaim
    private let spec: AppSpec
    private(set) var plan = BundlePlan()
    /// The batches of each of the plan's parcels.
    private var batches: [[(sequence: Int64, batch: DeliverBatch)]] = []
    /// The parcel of each service that is not full yet.
    private var open: [PNS: (index: Int, bytes: Int)] = [:]
    /// How many more devices of each service may be fed.
    private var rooms: [PNS: Int]

    init(hub: EmbeddedHub, claim: BundleClaim, spec: AppSpec, rooms: [PNS: Int]) {
        self.hub = hub
        self.claim = claim
        self.spec = spec
        self.rooms = rooms
    }

    /// Plans the next send.
    ///
    /// - Returns: false when there is no room for it; then it is not planned.
    mutating func plan(_ send: SmallSend) -> Bool {
        guard case .all(let services) = send.audience, let payloads = self.payloads(of: send, for: services.keys) else {
            self.plan.sends.append(PlannedSend(sequence: send.sequence, fate: .single))
            return true
        }
        guard payloads.allSatisfy({ (services[$0.0]?.count ?? 0) <= self.rooms[$0.0] ?? 0 }) else {
            guard self.plan.sends.isEmpty else { return false }
            // There may never be room for all of it at once: the ordinary way has pages of any size.
            self.plan.sends.append(PlannedSend(sequence: send.sequence, fate: .single))
            return true
        }
        var planned: [SmallBatch] = []
        for (pns, payload) in payloads {
            let batch = DeliverBatch(
                app: self.claim.bundle.app,
                key: BatchKey(job: send.id, pns: pns, page: 0, attempt: 0),
                priority: self.claim.bundle.priority,
                expires: send.expires,
                keepUntil: send.request.keepUntil(from: send.accepted),
                collapse: send.request.collapse,
                payload: payload,
                devices: services[pns] ?? DeliverBatch.Devices()
            )
            let parcel = self.parcel(for: batch)
            self.batches[parcel].append((send.sequence, batch))
            self.rooms[pns, default: 0] -= batch.devices.count
            planned.append(SmallBatch(pns: pns, size: batch.devices.count, parcel: parcel))
        }
        self.plan.sends.append(PlannedSend(sequence: send.sequence, fate: .planned(planned)))
        return true
    }

    /// The payload for each service; nil where one cannot be made: such a send is told why on the ordinary way.
    private func payloads(of send: SmallSend, for services: some Collection<PNS>) -> [(PNS, NativePayload)]? {
        var payloads: [(PNS, NativePayload)] = []
        for pns in services.sorted() {
            let payload = self.hub.payload(
                for: pns,
                request: send.request,
                priority: self.claim.bundle.priority,
                from: send.accepted,
                spec: self.spec
            )
            guard case .success(let formatted) = payload else { return nil }
            payloads.append((pns, formatted))
        }
        return payloads
    }

    /// A parcel with room for the batch.
    private mutating func parcel(for batch: DeliverBatch) -> Int {
        let size = DeliverParcel.wireSize(of: batch)
        let pns = batch.key.pns
        if let current = self.open[pns], self.batches[current.index].count < DeliverParcel.maximumBatches,
            current.bytes + size <= DeliverBatch.maximumBytes
        {
            self.open[pns] = (current.index, current.bytes + size)
            return current.index
        }
        self.batches.append([])
        self.plan.parcels = self.batches.count
        self.open[pns] = (self.batches.count - 1, size)
        return self.batches.count - 1
    }

    /// What is to be published of each parcel.
    func parcels(without lost: Set<Int64>) -> [DeliverParcel] {
        self.batches.map { batches in
            DeliverParcel(batches: batches.filter { !lost.contains($0.sequence) }.map(\.batch))
        }
    }
}

extension SmallSend {
    /// The services that it goes through.
    fileprivate var services: [PNS] {
        if case .all(let devices) = self.audience { Array(devices.keys) } else { [] }
    }
}
