package import PushModel

/// Many small sends that are accepted, published and planned together (rule 15).
///
/// A bundle is the outbox entry of up to ``SendBundle/maximumJobs`` jobs of one app and priority, a parcel that of the batches which
/// travel in one deliver message. Each job and each batch is a row like any other, with its own state, fence and counts; while
/// a bundle or a parcel stands for it, it is not due itself. Whatever cannot go on together is taken apart, and goes the
/// ordinary way.
package protocol BundleStore: Sendable {
    /// Accepts jobs of one app, each on its own, in one transaction.
    ///
    /// Those that may be planned in one step are put in bundles, the others are due at once. Who accepted them publishes both.
    ///
    /// - Parameters:
    ///   - jobs: At most ``SendBundle/maximumJobs``.
    ///   - mayJoin: Whether they may be put into the latest bundle, where that is of their app and priority and has room.
    /// - Returns: What came of each, and the bundles, new ones and those that were added to.
    /// - Throws: ``StoreError`` when nothing was accepted.
    func accept(together jobs: [NewJob], joining mayJoin: Bool) async throws -> GroupAcceptance

    /// Says that messages for these bundles are at the broker: they are due again when the lease lapses (rule 1).
    ///
    /// One that somebody has claimed since is left as it is.
    func markPublished(bundles: [SendBundle], lease: Duration) async throws

    /// Bundles that nobody seems to be at, most urgent first, then the longest due.
    func dueBundles(overdue: Duration, limit: Int) async throws -> [SendBundle]

    /// Takes a bundle over: raises its epoch, so that earlier claims are void, and starts its lease.
    ///
    /// - Returns: nil when nothing of it is to be planned.
    func claim(_ bundle: BundleID, lease: Duration) async throws -> BundleClaim?

    /// Looks at a bundle without taking it over: what is committed first for the claim does that, if nobody else has since.
    ///
    /// So a bundle that is planned in one step costs one commit. Until then nothing in the store says that someone is at it.
    ///
    /// - Parameters:
    ///   - bundle: The bundle.
    ///   - devices: The most devices of one send, as in ``smallSends(of:devices:)``.
    /// - Returns: A claim that is not held, with its first sends; nil when nothing of the bundle is to be planned.
    /// - Throws: ``StoreError``.
    func look(at bundle: BundleID, devices: Int) async throws -> BundleClaim?

    /// Gives a claim back: the bundle is due after `pause`.
    func release(_ claim: BundleClaim, pause: Duration) async throws

    /// Extends a claim's lease.
    ///
    /// - Returns: false when the claim is no longer the latest.
    func extend(_ claim: BundleClaim, lease: Duration) async throws -> Bool

    /// The next sends of a bundle with all their devices.
    ///
    /// - Parameters:
    ///   - claim: The bundle.
    ///   - devices: The most devices of one send; one that has more is ``SmallSend/Audience/large``. About a hundred times as
    ///     many are read at all.
    /// - Returns: The sends in their order, none when the bundle is done.
    /// - Throws: ``StoreError``.
    func smallSends(of claim: BundleClaim, devices: Int) async throws -> [SmallSend]

    /// Writes the batches of a bundle's next sends and marks those jobs planned, in one transaction, only where the claim is the
    /// latest; one that is not held is held from then on.
    ///
    /// A job that was stopped or taken out meanwhile is left out with all its batches. The devices count for the rate limits.
    /// Parcels are due after `grace` until they are marked published.
    func commit(
        _ plan: BundlePlan,
        of claim: BundleClaim,
        lease: Duration,
        grace: Duration
    ) async throws -> BundleResult

    /// Has every job of a bundle that is not planned yet go the ordinary way, at once.
    func takeApart(_ bundle: BundleID) async throws

    /// Says that messages for these parcels are at the broker.
    func markPublished(parcels: [ParcelID], lease: Duration) async throws

    /// Takes apart what is due of parcels: their planner died, or their messages are lost.
    ///
    /// - Parameter limit: The most jobs to go over, but at least those of one parcel: others wait for the store meanwhile.
    /// - Returns: How many parcels.
    /// - Throws: ``StoreError``.
    func takeApartParcels(limit: Int) async throws -> Int
}

extension BundleStore {
    /// Accepts jobs of one app in bundles of their own; see ``accept(together:joining:)``.
    package func accept(together jobs: [NewJob]) async throws -> GroupAcceptance {
        try await self.accept(together: jobs, joining: false)
    }
}

/// The outbox entry of jobs that were accepted together.
package struct SendBundle: Sendable, Equatable {
    /// The most jobs in one.
    package static let maximumJobs = 500

    package let id: BundleID
    package let app: AppID
    package let priority: Priority
    /// How often it had been claimed when it was read.
    package let epoch: Int

    package init(id: BundleID, app: AppID, priority: Priority, epoch: Int = 0) {
        self.id = id
        self.app = app
        self.priority = priority
        self.epoch = epoch
    }
}

/// What came of accepting several jobs.
package struct GroupAcceptance: Sendable {
    /// What came of each, in their order.
    package var answers: [Answer]
    /// To be published.
    package var bundles: [SendBundle]
    /// Jobs that no bundle holds, to be published one by one.
    package var singles: [Job]

    package init(answers: [Answer] = [], bundles: [SendBundle] = [], singles: [Job] = []) {
        self.answers = answers
        self.bundles = bundles
        self.singles = singles
    }

    /// What came of one job.
    package enum Answer: Sendable, Equatable {
        /// It is new and durable.
        indirect case accepted(Job)
        /// The same line of the same request was accepted before, as that job.
        case repeated(JobID)
        /// The idempotency key was used for another request.
        case keyReused
        /// So much is accepted and unfinished that it was not taken.
        case backlogFull
    }
}

/// The right to plan a bundle, until someone claims it later.
package struct BundleClaim: Sendable, Equatable {
    package let bundle: SendBundle
    /// Counts the claims.
    package let epoch: Int
    /// How often it was claimed, this time included, since its planning last came anywhere.
    package let claims: Int
    /// Whether the store knows of the claim; one that only looked becomes known with its first commit.
    package let isHeld: Bool
    /// The services that its next sends go through, as far as is known: their windows are looked at first.
    package var services: Set<PNS> = []
    /// Those of them whose windows were full when it came no further.
    package var blocked: Set<PNS> = []
    /// Services whose windows have been full for long: nobody waits for them, and sends to them go the ordinary way.
    package var stuck: Set<PNS> = []
    /// What was read together with the claim, for its first step.
    package var glimpse: BundleGlimpse?

    package init(bundle: SendBundle, epoch: Int, claims: Int, isHeld: Bool = true) {
        self.bundle = bundle
        self.epoch = epoch
        self.claims = claims
        self.isHeld = isHeld
    }

    /// The claim as it is when something was committed for it.
    package var held: BundleClaim {
        guard !self.isHeld else { return self }
        var claim = BundleClaim(bundle: self.bundle, epoch: self.epoch + 1, claims: 0)
        claim.services = self.services
        return claim
    }
}

/// What a planner needs for the next sends of a bundle.
package struct BundleGlimpse: Sendable, Equatable {
    package let sends: [SmallSend]
    /// What may be fed to each of their services.
    package let rooms: [PNS: FeedRoom]

    package init(sends: [SmallSend], rooms: [PNS: FeedRoom]) {
        self.sends = sends
        self.rooms = rooms
    }
}

/// A send of a bundle, ready to be planned.
package struct SmallSend: Sendable, Equatable {
    /// Its devices at one service.
    package struct Reach: Sendable, Equatable {
        package let pns: PNS
        package var devices = DeliverBatch.Devices()

        package init(pns: PNS) { self.pns = pns }
    }

    /// Whom it reaches.
    package enum Audience: Sendable, Equatable {
        /// All its devices, each service once.
        case all([Reach])
        /// Too many for one step, or not to be read here.
        case large
    }

    /// Names the job within the store.
    package let sequence: Int64
    package let id: JobID
    package let request: SendRequest
    package let accepted: Timestamp
    package let expires: Timestamp
    package let traceparent: String?
    package let audience: Audience
    /// The highest registration row when it was read: all that were there when the send was accepted.
    package let through: Int64

    package init(
        sequence: Int64,
        id: JobID,
        request: SendRequest,
        accepted: Timestamp,
        expires: Timestamp,
        traceparent: String?,
        audience: Audience,
        through: Int64
    ) {
        self.sequence = sequence
        self.id = id
        self.request = request
        self.accepted = accepted
        self.expires = expires
        self.traceparent = traceparent
        self.audience = audience
        self.through = through
    }

    /// The most devices of a send that is planned together with others.
    package static let devices = 100
}

extension [SmallSend] {
    /// The services that they go through.
    package var services: Set<PNS> {
        var services: Set<PNS> = []
        for send in self {
            guard case .all(let reaches) = send.audience else { continue }
            for reach in reaches { services.insert(reach.pns) }
        }
        return services
    }
}

/// The next sends of a bundle, planned.
package struct BundlePlan: Sendable {
    package var sends: [PlannedSend]
    /// How many parcels the sends' batches are divided into.
    package var parcels: Int
    /// How far the audiences of its batches go: ``SmallSend/through``.
    package var through: Int64

    package init(sends: [PlannedSend] = [], parcels: Int = 0, through: Int64 = 0) {
        self.sends = sends
        self.parcels = parcels
        self.through = through
    }

    /// How many devices it has of each service.
    package var devices: [PNS: Int] {
        var devices: [PNS: Int] = [:]
        for case .planned(let batches) in self.sends.map(\.fate) {
            for batch in batches { devices[batch.pns, default: 0] += batch.size }
        }
        return devices
    }
}

/// A send of a bundle, planned.
package struct PlannedSend: Sendable {
    /// What becomes of the job.
    package enum Fate: Sendable {
        /// These are all its batches, at most one a service; none = it has no target.
        case planned([SmallBatch])
        /// It goes the ordinary way, for itself.
        case single
    }

    package let sequence: Int64
    package let fate: Fate

    package init(sequence: Int64, fate: Fate) {
        self.sequence = sequence
        self.fate = fate
    }
}

/// All devices of a send on one service: page 0 of it, and the only one.
package struct SmallBatch: Sendable, Equatable {
    package let pns: PNS
    /// How many devices it had when it was planned.
    package let size: Int
    /// Which of the plan's parcels it travels in.
    package let parcel: Int

    package init(pns: PNS, size: Int, parcel: Int) {
        self.pns = pns
        self.size = size
        self.parcel = parcel
    }
}

/// What came of a bundle's plan.
package enum BundleResult: Sendable, Equatable {
    /// Written, but for the jobs in `lost`; the plan's parcels by index, nil where nothing is in one; `isDone` when that was all of the
    /// bundle.
    case written(parcels: [ParcelID?], lost: Set<Int64>, isDone: Bool)
    /// Another planner was faster and has used up a rate limit: nothing was written.
    case noRoom
    /// Someone else has claimed the bundle, or it was taken apart: nothing was written.
    case lost
}
