package import PushModel

/// Reads the audience of a tag expression.
package protocol AudienceStore: Sendable {
    /// The registrations of the audience with rows in `(after, through]`, in row order, at most `limit`.
    ///
    /// A page may end before its limit and before `through`, even without a row: a sparse audience in a wide range is
    /// read in pages of bounded cost. ``AudiencePage/scannedThrough`` is the end of a page, even if it has fewer rows
    /// than `limit`; each call with `after < through` and `limit > 0` advances at least one row.
    ///
    /// The memory's contents may be reused for a few seconds: it belongs to one fan-out of one job.
    func audience(
        of expression: TagExpression,
        kind: RegistrationKind,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        limit: Int,
        memory: AudienceMemory?
    ) async throws -> AudiencePage

    /// How many registrations of the audience have rows in `(after, through]`; in slices of bounded cost, as pages are.
    ///
    /// `through` may be beyond the last row there is. The memory belongs to this expression.
    func count(
        of expression: TagExpression,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        memory: AudienceMemory?
    ) async throws -> AudienceCount

    /// The devices of a job's list with numbers in `(after, through]` (``Recipient/number``), in that order, at most `limit`.
    ///
    /// Of a registration it has the present handle; one that is not live on that service is left out.
    func recipients(
        of job: Int64,
        pns: PushService,
        after: Int64,
        through: Int64,
        limit: Int
    ) async throws -> AudiencePage

    /// Which of these rows are still live on that service and in the audience, and where they are reached now.
    func addresses(
        of rows: [Int64],
        in expression: TagExpression,
        kind: RegistrationKind,
        app: AppID,
        pns: PushService,
        memory: AudienceMemory?
    ) async throws -> [Int64: DeviceAddress]

    /// The whole expression of a send of which the job has only the first tags (``SendRequest/truncatedTags``).
    func wholeExpression(of job: Int64) async throws -> TagExpression

    /// Templates by the numbers that an audience has (``AudiencePage/templates``); one that nobody has any more may be missing.
    func templates(_ numbers: Set<Int64>) async throws -> [Int64: DeviceTemplate.Content]
}

extension AudienceStore {
    /// See ``audience(of:kind:app:pns:after:through:limit:memory:)``; for a single look.
    package func audience(
        of expression: TagExpression,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        limit: Int
    ) async throws -> AudiencePage {
        try await self.audience(
            of: expression,
            kind: .native,
            app: app,
            pns: pns,
            after: after,
            through: through,
            limit: limit,
            memory: nil
        )
    }

    /// See ``count(of:app:pns:after:through:memory:)``; for a single look.
    package func count(
        of expression: TagExpression,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64
    ) async throws -> AudienceCount {
        try await self.count(of: expression, app: app, pns: pns, after: after, through: through, memory: nil)
    }

    /// See ``addresses(of:in:kind:app:pns:memory:)``; for a single look.
    package func addresses(
        of rows: [Int64],
        in expression: TagExpression,
        app: AppID,
        pns: PushService
    ) async throws -> [Int64: DeviceAddress] {
        try await self.addresses(of: rows, in: expression, kind: .native, app: app, pns: pns, memory: nil)
    }
}

extension AudienceStore {
    /// Reads the whole audience with rows in `(after, through]`, as a batch's page does whenever it is read again (rule
    /// 2).
    ///
    /// Registrations that joined since are included. It is read in pages.
    package func wholeAudience(
        of expression: TagExpression,
        kind: RegistrationKind = .native,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        memory: AudienceMemory?
    ) async throws -> AudiencePage {
        var whole = AudiencePage(scannedThrough: after)
        while whole.scannedThrough < through {
            let piece = try await self.audience(
                of: expression,
                kind: kind,
                app: app,
                pns: pns,
                after: whole.scannedThrough,
                through: through,
                limit: DeliverBatch.maximumDevices,
                memory: memory
            )
            for index in piece.rows.indices {
                whole.credentials.append(piece.credentials[index], at: whole.rows.count)
                whole.rows.append(piece.rows[index])
                whole.handles.append(piece.handles[index])
            }
            whole.templates += piece.templates
            whole.scannedThrough = piece.scannedThrough
        }
        return whole
    }
}
