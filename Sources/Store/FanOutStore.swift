package import PushModel

/// Fan-out: from the sends of a message to batches (rules 2, 4 and 12).
package protocol FanOutStore: AudienceStore {
    /// Reads a send message with its first work, without claiming it: the first ``commit(_:of:)`` claims it, if nobody has since.
    ///
    /// So a message that is fanned out in one step costs one commit. Until then nothing in the store says that someone is at it.
    ///
    /// - Returns: nil when nothing of it is to be fanned out.
    func peek(_ message: MessageID) async throws -> FanOutClaim?

    /// Takes a send message over: raises its epoch, so that earlier claims are void, and starts its lease.
    ///
    /// - Returns: nil when nothing of it is to be fanned out.
    func claim(_ message: MessageID) async throws -> FanOutClaim?

    /// Extends a claim's lease.
    ///
    /// - Returns: false when the claim is no longer the latest.
    func extend(_ claim: FanOutClaim) async throws -> Bool

    /// The next work of a claim: its sends behind ``FanOutClaim/position``, or the one campaign that it is.
    ///
    /// - Returns: nil behind the last send.
    /// - Throws: ``StoreError``.
    func work(of claim: FanOutClaim) async throws -> FanOutWork?

    /// Writes batches as rows with their delivery messages, moves the cursors and marks jobs, in one transaction, only where the claim
    /// is the latest and only for jobs that are still its message's; a claim that only peeked is in the store from then on.
    ///
    /// The devices count for the rate limit with the commit. Sets the jobs' hub state: Enqueued with the first batch, NoTargetFound
    /// where there is none; a job whose audience is all in batches is final when nothing of it is open.
    ///
    /// - Returns: What came of it.
    /// - Throws: ``StoreError``.
    func commit(_ step: FanOutStep, of claim: FanOutClaim) async throws -> FanOutResult

    /// Ends the one send of a message of which the hub took nothing.
    ///
    /// - Returns: The routing key of the process that waits, if one does and this call ended the job.
    func abandon(_ claim: FanOutClaim, reason: String) async throws -> String?

    /// What may be published now to a service, for an app and priority (rule 12).
    func credit(for kind: CreditKind, app: AppID, pns: PushService, priority: Priority) async throws -> Credit

    /// The open batches of a delivery message, for who publishes it again.
    func batches(of message: MessageID) async throws -> [DueBatch]
}

/// The right to fan a message out, until someone claims it later.
package struct FanOutClaim: Sendable {
    /// The message, under the epoch of the claim.
    package let message: OutboxMessage
    /// How often it was claimed, this time included, since its fan-out last came anywhere.
    package let claims: Int
    /// Whether the store knows of the claim; one that only peeked becomes known with its first commit.
    package let isClaimed: Bool
    /// What is to be done next, as far as it is read; a campaign stays here with its cursors as they move.
    package var work: FanOutWork?
    /// The last of its sends that was looked at in this pass, by its number.
    package var position: Int64 = 0
    /// Services that sends which were passed over wait for.
    package var blocked: Set<PushService> = []

    package init(message: OutboxMessage, claims: Int, isClaimed: Bool, work: FanOutWork? = nil) {
        self.message = message
        self.claims = claims
        self.isClaimed = isClaimed
        self.work = work
    }

    /// The claim as it is when something was committed for it.
    package var claimed: FanOutClaim {
        guard !self.isClaimed else { return self }
        var claim = FanOutClaim(
            message: self.message.with(epoch: self.message.epoch + 1),
            claims: 0,
            isClaimed: true,
            work: self.work
        )
        (claim.position, claim.blocked) = (self.position, self.blocked)
        return claim
    }
}

/// What is to be fanned out.
package enum FanOutWork: Sendable {
    /// Small sends, and what each of their services may take now.
    case group([SmallSend], credit: [PushService: Credit])
    /// The only send of its message, of any size.
    case campaign(Campaign)
}

/// A send that is fanned out page by page.
package struct Campaign: Sendable {
    package let job: Job
    /// The send with all of its audience.
    package let request: SendRequest
    /// The routing key of the process that waits for the hub's answer.
    package let waiter: String?
    /// One for each service that the send goes to.
    package var cursors: [AudienceCursor]
    package let memory: AudienceMemory

    package init(
        job: Job,
        request: SendRequest,
        waiter: String?,
        cursors: [AudienceCursor],
        memory: AudienceMemory = AudienceMemory()
    ) {
        self.job = job
        self.request = request
        self.waiter = waiter
        self.cursors = cursors
        self.memory = memory
    }
}

/// How far a campaign's audience is in batches, for one service.
package struct AudienceCursor: Sendable, Equatable {
    package let pns: PushService
    /// The last row in a batch.
    package var after: Int64
    /// The highest row that counts: the highest there was when the fan-out began.
    package let through: Int64
    package var nextPage: Int
    package var isDone: Bool

    package init(pns: PushService, after: Int64, through: Int64, nextPage: Int, isDone: Bool) {
        self.pns = pns
        self.after = after
        self.through = through
        self.nextPage = nextPage
        self.isDone = isDone
    }
}

/// A send of a group with all its devices.
package struct SmallSend: Sendable, Equatable {
    /// Its devices at one service.
    package struct Reach: Sendable, Equatable {
        package let pns: PushService
        package var devices = DeliverBatch.Devices()

        package init(pns: PushService) { self.pns = pns }
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
    package let startsAt: Timestamp?
    package let waiter: String?
    package let audience: Audience
    /// The highest registration row when it was read: all that were there when the send was accepted.
    package let through: Int64

    package init(
        sequence: Int64,
        id: JobID,
        request: SendRequest,
        accepted: Timestamp,
        expires: Timestamp,
        startsAt: Timestamp?,
        waiter: String?,
        audience: Audience,
        through: Int64
    ) {
        self.sequence = sequence
        self.id = id
        self.request = request
        self.accepted = accepted
        self.expires = expires
        self.startsAt = startsAt
        self.waiter = waiter
        self.audience = audience
        self.through = through
    }

    /// The most devices of a send in a group; about a hundred times as many are read at a time.
    package static let maximumDevices = 100

    /// From when on a time to live counts.
    package var begins: Timestamp { self.startsAt ?? self.accepted }
}

extension [SmallSend] {
    /// The services that they go through.
    package var services: Set<PushService> {
        var services: Set<PushService> = []
        for send in self {
            guard case .all(let reaches) = send.audience else { continue }
            for reach in reaches { services.insert(reach.pns) }
        }
        return services
    }
}

/// One step of a fan-out.
package enum FanOutStep: Sendable {
    /// Small sends of a group.
    case group(GroupStep)
    /// The next pages of a campaign at one service.
    case pages(PageStep)
}

/// Sends of a group, divided into batches and delivery messages.
package struct GroupStep: Sendable {
    package var sends: [FanOutSend]
    /// How many delivery messages the batches are divided into.
    package var messages: Int
    /// How far the audiences of its batches go: ``SmallSend/through``.
    package var through: Int64

    package init(sends: [FanOutSend] = [], messages: Int = 0, through: Int64 = 0) {
        self.sends = sends
        self.messages = messages
        self.through = through
    }

    /// How many devices it has of each service.
    package var devices: [PushService: Int] {
        var devices: [PushService: Int] = [:]
        for case .batches(let batches) in self.sends.map(\.fate) {
            for batch in batches { devices[batch.pns, default: 0] += batch.size }
        }
        return devices
    }
}

/// What becomes of a send of a group.
package struct FanOutSend: Sendable {
    package enum Fate: Sendable {
        /// These are all its batches, at most one a service; none = it has no target.
        case batches([SinglePage])
        /// It goes on in a message of its own.
        case alone
    }

    package let sequence: Int64
    package let fate: Fate

    package init(sequence: Int64, fate: Fate) {
        self.sequence = sequence
        self.fate = fate
    }
}

/// All devices of a small send on one service: page 0 of it, and the only one.
package struct SinglePage: Sendable, Equatable {
    package let pns: PushService
    /// How many devices it had when it was read.
    package let size: Int
    /// Which of the step's delivery messages it travels in.
    package let message: Int

    package init(pns: PushService, size: Int, message: Int) {
        self.pns = pns
        self.size = size
        self.message = message
    }
}

/// The next pages of a campaign, each a delivery message of its own.
package struct PageStep: Sendable {
    /// Names the job within the store.
    package let sequence: Int64
    /// All cursors as they are after this step; the first step of a campaign writes them all.
    package let cursors: [AudienceCursor]
    /// The service whose cursor moves.
    package let pns: PushService
    package let batches: [FanOutPage]

    package init(sequence: Int64, cursors: [AudienceCursor], pns: PushService, batches: [FanOutPage]) {
        self.sequence = sequence
        self.cursors = cursors
        self.pns = pns
        self.batches = batches
    }
}

/// A batch before it is a message: the rows in `(from, to]`.
package struct FanOutPage: Sendable, Equatable {
    package let page: Int
    package let from: Int64
    package let to: Int64
    /// How many devices it had when it was read.
    package let size: Int

    package init(page: Int, from: Int64, to: Int64, size: Int) {
        self.page = page
        self.from = from
        self.to = to
        self.size = size
    }
}

/// What came of a step.
package enum FanOutResult: Sendable, Equatable {
    /// Written.
    case written(FanOutWritten)
    /// Another fan-out was faster and has used up a rate limit: nothing was written.
    case noCredit
    /// Other sends have joined the one of a message that was only peeked at: nothing was written, and it is to be claimed.
    case joined
    /// Someone else has claimed the message, or its job was stopped: nothing was written.
    case lost
}

/// What a step wrote.
package struct FanOutWritten: Sendable, Equatable {
    /// The step's delivery messages in their order; nil where nothing is in one.
    package var deliveries: [OutboxMessage?]
    /// Messages of sends that go on alone: to be published.
    package var alone: [OutboxMessage]
    /// Sends of a group, by number, that were left out: they were stopped meanwhile.
    package var lost: Set<Int64>
    /// Whether the message is done with.
    package var isDone: Bool

    package init(
        deliveries: [OutboxMessage?] = [],
        alone: [OutboxMessage] = [],
        lost: Set<Int64> = [],
        isDone: Bool = false
    ) {
        self.deliveries = deliveries
        self.alone = alone
        self.lost = lost
        self.isDone = isDone
    }
}

/// A batch that is published again.
package struct DueBatch: Sendable {
    package let key: BatchKey
    package let job: Job
    package let request: SendRequest
    /// For attempt 0: exactly the audience's rows in `(from, to]`.
    package let from: Int64
    package let to: Int64
    /// For later attempts: the devices still to do; their waits count from now.
    package let retries: [RetryDevice]

    package init(
        key: BatchKey,
        job: Job,
        request: SendRequest,
        from: Int64,
        to: Int64,
        retries: [RetryDevice]
    ) {
        self.key = key
        self.job = job
        self.request = request
        self.from = from
        self.to = to
        self.retries = retries
    }
}
