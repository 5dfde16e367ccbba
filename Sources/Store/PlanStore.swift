package import PushModel

/// Planning a send: from its audience to batches (rules 2, 4 and 12).
package protocol PlanStore: Sendable {
    /// Takes a send job over: raises its planner's epoch and starts its lease. The first claim fixes the audience's ceiling
    /// and lays a lane for each service.
    ///
    /// - Returns: nil when the job is planned, stopped, final or unknown.
    func claim(_ job: JobID, lease: Duration) async throws -> PlannerClaim?

    /// Extends a claim's lease.
    ///
    /// - Returns: false when the claim is no longer the latest.
    func extend(_ claim: PlannerClaim, lease: Duration) async throws -> Bool

    /// Gives a job back that cannot go on: another planner may take it when it is due (rule 12).
    ///
    /// - Parameters:
    ///   - claim: The job.
    ///   - services: Those whose windows are in its way: it is due when there is room in one of them.
    ///   - pause: How long it is not due at all.
    /// - Returns: false when the claim is no longer the latest.
    /// - Throws: ``StoreError``.
    func release(_ claim: PlannerClaim, waitingFor services: [PNS], pause: Duration) async throws -> Bool

    /// The registrations of the audience with rows in `(after, through]`, in row order, at most `limit`.
    ///
    /// A page may end before its limit and before `through`, even without a row: an audience that is thin in a wide range is
    /// read in pieces of bounded cost. The end is where ``AudiencePage/scannedThrough`` says, never where rows are fewer than
    /// `limit`; each call with `after < through` and `limit > 0` comes at least one row further.
    ///
    /// What the memory holds may be used again for a few seconds: it belongs to one planner of one job.
    func audience(
        of expression: TagExpression,
        app: AppID,
        pns: PNS,
        after: Int64,
        through: Int64,
        limit: Int,
        memory: AudienceMemory?
    ) async throws -> AudiencePage

    /// How many registrations of the audience have rows in `(after, through]`; in slices of bounded cost, as pages are.
    ///
    /// `through` may be beyond the last row there is.
    func count(
        of expression: TagExpression,
        app: AppID,
        pns: PNS,
        after: Int64,
        through: Int64
    ) async throws -> AudienceCount

    /// Which of these rows are still live on that service and in the audience, and where they are reached now.
    func handles(
        of rows: [Int64],
        in expression: TagExpression,
        app: AppID,
        pns: PNS,
        memory: AudienceMemory?
    ) async throws -> [Int64: Handle]

    /// Writes batches as rows and moves the lane's cursor, in one transaction, only where the claim is the latest; when all
    /// lanes are done the job is planned, and final when nothing is open. Batches are due after `grace` until they are
    /// marked published. Sets the job's hub state: Enqueued with the first batch, NoTargetFound when it is planned without
    /// any.
    ///
    /// The devices count for the rate limit with the commit.
    func commit(_ step: PlanStep, of claim: PlannerClaim, lease: Duration, grace: Duration) async throws -> PlanResult

    /// Ends a job of which the hub took nothing.
    ///
    /// - Returns: The routing key of the process that waits, if one does and this call ended the job.
    func abandon(_ claim: PlannerClaim, reason: String) async throws -> String?

    /// Says that messages for these batches are at the broker.
    ///
    /// - Parameters:
    ///   - batches: The batches.
    ///   - lease: When they are due again.
    ///   - isRepeat: They were published before, or carried: their devices count for the rate limit once more.
    /// - Throws: ``StoreError``.
    func markPublished(batches: [BatchKey], lease: Duration, isRepeat: Bool) async throws

    /// What may be fed now to a service, for an app and priority (rule 12).
    func room(for kind: FeedKind, app: AppID, pns: PNS, priority: Priority) async throws -> FeedRoom

    /// Open batches that should be at the broker and seem not to be: most urgent first, and of each app and service as many as
    /// its window has room for, the longest due first.
    func dueBatches(limit: Int) async throws -> [DueBatch]
}

extension PlanStore {
    /// See ``audience(of:app:pns:after:through:limit:memory:)``; for a single look.
    package func audience(
        of expression: TagExpression,
        app: AppID,
        pns: PNS,
        after: Int64,
        through: Int64,
        limit: Int
    ) async throws -> AudiencePage {
        try await self.audience(
            of: expression,
            app: app,
            pns: pns,
            after: after,
            through: through,
            limit: limit,
            memory: nil
        )
    }

    /// See ``handles(of:in:app:pns:memory:)``; for a single look.
    package func handles(
        of rows: [Int64],
        in expression: TagExpression,
        app: AppID,
        pns: PNS
    ) async throws -> [Int64: Handle] {
        try await self.handles(of: rows, in: expression, app: app, pns: pns, memory: nil)
    }
}

/// The right to plan a job, until someone claims it later.
package struct PlannerClaim: Sendable {
    package let job: Job
    package let request: SendRequest
    package let epoch: Int
    /// One for each service that the send goes to.
    package let lanes: [PlanLane]
    /// The routing key of the process that waits for the hub's answer.
    package let waiter: String?
    /// How often it was claimed, this time included, since its planning last came anywhere.
    package let claims: Int
    package let memory: AudienceMemory

    package init(
        job: Job,
        request: SendRequest,
        epoch: Int,
        lanes: [PlanLane],
        waiter: String?,
        claims: Int,
        memory: AudienceMemory = AudienceMemory()
    ) {
        self.job = job
        self.request = request
        self.epoch = epoch
        self.lanes = lanes
        self.waiter = waiter
        self.claims = claims
        self.memory = memory
    }
}

/// How far planning has come for one service.
package struct PlanLane: Sendable, Equatable {
    package let pns: PNS
    /// The last row planned.
    package var after: Int64
    /// The highest row that counts: the highest there was when planning began.
    package let through: Int64
    package var nextPage: Int
    package var isDone: Bool

    package init(pns: PNS, after: Int64, through: Int64, nextPage: Int, isDone: Bool) {
        self.pns = pns
        self.after = after
        self.through = through
        self.nextPage = nextPage
        self.isDone = isDone
    }
}

extension PlanStore {
    /// Reads all of the audience with rows in `(after, through]`, as a batch's page is whenever it is read again (rule 2).
    ///
    /// Whoever has joined since belongs to it. It is read in pieces, as reading goes.
    package func wholeAudience(
        of expression: TagExpression,
        app: AppID,
        pns: PNS,
        after: Int64,
        through: Int64,
        memory: AudienceMemory?
    ) async throws -> AudiencePage {
        var whole = AudiencePage(scannedThrough: after)
        while whole.scannedThrough < through {
            let piece = try await self.audience(
                of: expression,
                app: app,
                pns: pns,
                after: whole.scannedThrough,
                through: through,
                limit: DeliverBatch.maximumDevices,
                memory: memory
            )
            whole.rows += piece.rows
            for index in piece.rows.indices { whole.handles.append(piece.handles[index]) }
            whole.scannedThrough = piece.scannedThrough
        }
        return whole
    }
}

/// A piece of an audience.
package struct AudiencePage: Sendable {
    package var rows: [Int64]
    /// In the order of ``rows``.
    package var handles: HandleList
    /// All of the audience up to this row is in the page, or was in one before: the next page begins after it.
    ///
    /// It is `through` itself when nothing is left.
    package var scannedThrough: Int64

    package init(rows: [Int64] = [], handles: HandleList = HandleList(), scannedThrough: Int64) {
        self.rows = rows
        self.handles = handles
        self.scannedThrough = scannedThrough
    }
}

/// The size of a piece of an audience.
package struct AudienceCount: Sendable, Equatable {
    package var count: Int
    /// The piece ends here, as in ``AudiencePage/scannedThrough``.
    package var scannedThrough: Int64

    package init(count: Int, scannedThrough: Int64) {
        self.count = count
        self.scannedThrough = scannedThrough
    }
}

/// One step of a plan: the next pages of one lane, and where the lane stands after them.
package struct PlanStep: Sendable {
    package var batches: [PlannedBatch]
    /// The lane as it is after this step.
    package var lane: PlanLane

    package init(batches: [PlannedBatch], lane: PlanLane) {
        self.batches = batches
        self.lane = lane
    }
}

/// A batch before it is a message: the rows in `(from, to]`.
package struct PlannedBatch: Sendable, Equatable {
    package let page: Int
    package let from: Int64
    package let to: Int64
    /// How many devices it had when it was planned.
    package let size: Int

    package init(page: Int, from: Int64, to: Int64, size: Int) {
        self.page = page
        self.from = from
        self.to = to
        self.size = size
    }
}

/// What came of a plan's step.
package enum PlanResult: Sendable, Equatable {
    /// Written; more is to be planned.
    case more
    /// Written; that was the last.
    case planned
    /// Another planner was faster and has used up the rate limit: nothing was written.
    case noRoom
    /// Someone else has claimed the job, or it was stopped: nothing was written.
    case lost
}

/// A batch that a message should be published for.
package struct DueBatch: Sendable {
    package let key: BatchKey
    package let app: AppID
    package let job: Job
    package let request: SendRequest
    /// For attempt 0: exactly the audience's rows in `(from, to]`.
    package let from: Int64
    package let to: Int64
    /// For later attempts: the devices still to do.
    package let carried: [CarriedDevice]
    /// How long past its due time it is.
    package let overdue: Duration

    package init(
        key: BatchKey,
        app: AppID,
        job: Job,
        request: SendRequest,
        from: Int64,
        to: Int64,
        carried: [CarriedDevice],
        overdue: Duration
    ) {
        self.key = key
        self.app = app
        self.job = job
        self.request = request
        self.from = from
        self.to = to
        self.carried = carried
        self.overdue = overdue
    }
    /// The same batch of a send that is told otherwise.
    package func with(request: SendRequest) -> DueBatch {
        DueBatch(
            key: self.key,
            app: self.app,
            job: self.job,
            request: request,
            from: self.from,
            to: self.to,
            carried: self.carried,
            overdue: self.overdue
        )
    }
}
