import Broker
import FaultInjection
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
            guard let glimpse = try await self.glimpse(of: &claim) else {
                return .more(claim, after: self.configuration.windowPause)
            }
            CrashPoint.bundleRead.reach()
            var planner = BundlePlanner(
                hub: self,
                claim: claim,
                spec: spec,
                rooms: glimpse.rooms.mapValues(\.devices)
            )
            for send in glimpse.sends { guard planner.plan(send) else { break } }
            let result = try await self.store.commit(
                planner.plan,
                of: claim,
                lease: self.configuration.plannerLease,
                grace: self.configuration.grace
            )
            let lost: Set<Int64>
            let isDone: Bool
            let ids: [ParcelID?]
            switch result {
            case .lost: return .lost
            case .noRoom: return .more(claim, after: self.configuration.windowPause)
            case .written(let parcels, let left, let isLast): (ids, lost, isDone) = (parcels, left, isLast)
            }
            CrashPoint.bundleCommitted.reach()
            claim = claim.held
            let parcels = planner.parcels(without: lost)
            let written = zip(ids, parcels).compactMap { id, parcel in id.map { (id: $0, parcel: parcel) } }
            let isPublished = try await self.publish(written)
            CrashPoint.bundlePublished.reach()
            if isDone { return .done }
            if !isPublished { return .more(claim, after: self.configuration.brokerPause) }
        } while ContinuousClock.now < end
        return .more(claim, after: .zero)
    }

    /// The next sends of a bundle, and how much of them may be fed now; nil while a window is full that may have room again soon
    /// (rule 12).
    private func glimpse(of claim: inout BundleClaim) async throws -> BundleGlimpse? {
        if let known = claim.glimpse {
            // It is good for one step.
            claim.glimpse = nil
            claim.services = known.sends.services
            return claim.mustWait(for: known.rooms) ? nil : known
        }
        // Looked at before anything is read: who waits for room costs little.
        guard claim.mustWait(for: try await self.rooms(of: claim.services, bundle: claim.bundle)) == false else {
            return nil
        }
        let sends = try await self.store.smallSends(of: claim, devices: SmallSend.devices)
        claim.services = sends.services
        let rooms = try await self.rooms(of: claim.services, bundle: claim.bundle)
        return claim.mustWait(for: rooms) ? nil : BundleGlimpse(sends: sends, rooms: rooms)
    }

    /// How many devices of each service may be fed now (rule 12).
    private func rooms(of services: Set<PNS>, bundle: SendBundle) async throws -> [PNS: FeedRoom] {
        var rooms: [PNS: FeedRoom] = [:]
        for pns in services where pns.isInService {
            rooms[pns] = try await self.store.room(for: .first, app: bundle.app, pns: pns, priority: bundle.priority)
        }
        return rooms
    }

    /// Publishes parcels, and has those marked that are at the broker; those that are surely not are taken apart at once, the others
    /// when their grace ends.
    ///
    /// - Returns: Whether all are.
    private func publish(_ parcels: [(id: ParcelID, parcel: DeliverParcel)]) async throws -> Bool {
        let messages = parcels.compactMap { id, parcel in
            OutgoingMessage(delivering: parcel, id: id).map { (id: id, message: $0) }
        }
        guard !messages.isEmpty else { return true }
        let results = await self.broker.publish(messages.map(\.message), deadline: self.configuration.publishDeadline)
        let published = zip(messages, results).filter { $0.1.isPublished }.map(\.0.id)
        self.marks.note(published)
        for (failed, result) in zip(messages, results) where result.isSurelyNotPublished {
            try await self.store.takeApart(failed.id)
        }
        return published.count == messages.count
    }
}

extension BundleClaim {
    /// Notes which windows are full, and says whether that is to be waited for.
    ///
    /// A rate limit and a pause are not: their sends go the ordinary way, and those to other services are not held up by them.
    fileprivate mutating func mustWait(for rooms: [PNS: FeedRoom]) -> Bool {
        self.blocked = Set(rooms.filter(\.value.isFull).keys)
        return !self.blocked.isSubset(of: self.stuck)
    }
}

/// Divides the batches of small sends into parcels, one service in each.
private struct BundlePlanner {
    private let hub: EmbeddedHub
    private let claim: BundleClaim
    private let spec: AppSpec
    private(set) var plan = BundlePlan()
    /// The plan's parcels, and the jobs that their batches are of.
    private var parcels: [DeliverParcel] = []
    private var sequences: [[Int64]] = []
    /// The parcel of each service that is not full yet.
    private var open: [PNS: (index: Int, room: DeliverParcel.Room)] = [:]
    /// How many more devices of each service may be fed.
    private var rooms: [PNS: Int]
    /// Services that took nothing from the beginning.
    private let closed: Set<PNS>

    init(hub: EmbeddedHub, claim: BundleClaim, spec: AppSpec, rooms: [PNS: Int]) {
        self.hub = hub
        self.claim = claim
        self.spec = spec
        self.rooms = rooms
        self.closed = Set(rooms.filter { $0.value <= 0 }.keys)
    }

    /// Plans the next send.
    ///
    /// - Returns: false when there is no room for it; then it is not planned.
    mutating func plan(_ send: SmallSend) -> Bool {
        guard case .all(let reaches) = send.audience, let payloads = self.payloads(of: send, for: reaches) else {
            self.plan.sends.append(PlannedSend(sequence: send.sequence, fate: .single))
            return true
        }
        let lacking = reaches.filter { $0.devices.count > self.rooms[$0.pns] ?? 0 }
        guard lacking.isEmpty else {
            // What had room a moment ago may have some again; what had none, or never will for all of it at once, goes the ordinary
            // way, which has pages of any size and waits for each service by itself.
            let isClosed = lacking.contains { self.closed.contains($0.pns) }
            guard self.plan.sends.isEmpty || isClosed else { return false }
            self.plan.sends.append(PlannedSend(sequence: send.sequence, fate: .single))
            return true
        }
        var planned: [SmallBatch] = []
        for (reach, payload) in zip(reaches, payloads) {
            let pns = reach.pns
            let batch = DeliverBatch(
                app: self.claim.bundle.app,
                key: BatchKey(job: send.id, pns: pns, page: 0, attempt: 0),
                priority: self.claim.bundle.priority,
                expires: send.expires,
                keepUntil: send.request.keepUntil(from: send.accepted),
                collapse: send.request.collapse,
                payload: payload,
                devices: reach.devices
            )
            let parcel = self.parcel(for: batch)
            self.parcels[parcel].batches.append(batch)
            self.sequences[parcel].append(send.sequence)
            self.rooms[pns, default: 0] -= batch.devices.count
            planned.append(SmallBatch(pns: pns, size: batch.devices.count, parcel: parcel))
        }
        self.plan.sends.append(PlannedSend(sequence: send.sequence, fate: .planned(planned)))
        // The same for all: they were read together.
        self.plan.through = send.through
        return true
    }

    /// The payload for each service; nil where one cannot be made: such a send is told why on the ordinary way.
    private func payloads(of send: SmallSend, for reaches: [SmallSend.Reach]) -> [NativePayload]? {
        var payloads: [NativePayload] = []
        for reach in reaches {
            let payload = self.hub.payload(
                for: reach.pns,
                request: send.request,
                priority: self.claim.bundle.priority,
                from: send.accepted,
                spec: self.spec
            )
            guard case .success(let formatted) = payload else { return nil }
            payloads.append(formatted)
        }
        return payloads
    }

    /// A parcel with room for the batch.
    private mutating func parcel(for batch: DeliverBatch) -> Int {
        let pns = batch.key.pns
        if let begun = self.open[pns] {
            // A copy: to change it where it is costs three allocations.
            var room = begun.room
            if room.take(batch) {
                self.open[pns] = (begun.index, room)
                return begun.index
            }
        }
        var room = DeliverParcel.Room()
        _ = room.take(batch)
        self.parcels.append(DeliverParcel(batches: []))
        self.sequences.append([])
        self.plan.parcels = self.parcels.count
        self.open[pns] = (self.parcels.count - 1, room)
        return self.parcels.count - 1
    }

    /// What is to be published of each parcel.
    func parcels(without lost: Set<Int64>) -> [DeliverParcel] {
        guard !lost.isEmpty else { return self.parcels }
        return zip(self.parcels, self.sequences).map { parcel, sequences in
            let left = zip(parcel.batches, sequences).filter { !lost.contains($0.1) }
            return DeliverParcel(batches: left.map(\.0))
        }
    }
}
