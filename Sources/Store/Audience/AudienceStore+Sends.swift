package import PushModel

/// The audiences of sends: what an expression selects, or the list of a job.
extension AudienceStore {
    /// A piece of a send's audience.
    ///
    /// See ``audience(of:kind:app:pns:after:through:limit:memory:)`` and ``recipients(of:pns:after:through:limit:)``.
    package func audience(
        of send: SendRequest,
        job: Int64,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        limit: Int,
        memory: AudienceMemory?
    ) async throws -> AudiencePage {
        guard let expression = try await self.expression(of: send, job: job, memory: memory) else {
            return try await self.recipients(of: job, pns: pns, after: after, through: through, limit: limit)
        }
        return try await self.audience(
            of: expression,
            kind: send.content.kind,
            app: app,
            pns: pns,
            after: after,
            through: through,
            limit: limit,
            memory: memory
        )
    }

    /// A batch's devices when it is read again (rule 2).
    ///
    /// - Parameters:
    ///   - send: The send.
    ///   - template: The number of the template that the batch is for; nil = it is for no template.
    ///   - job: Its job's row.
    ///   - app: The job's app.
    ///   - pns: The batch's service.
    ///   - after: The number before the batch's first device.
    ///   - through: The number of its last device.
    ///   - memory: See ``wholeAudience(of:kind:app:pns:after:through:memory:)``.
    /// - Returns: The devices.
    /// - Throws: What the store throws.
    package func wholeAudience(
        of send: SendRequest,
        template: Int64?,
        job: Int64,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        memory: AudienceMemory?
    ) async throws -> AudiencePage {
        guard let expression = try await self.expression(of: send, job: job, memory: memory) else {
            return try await self.recipients(of: job, pns: pns, after: after, through: through, limit: .max)
        }
        let whole = try await self.wholeAudience(
            of: expression,
            kind: send.content.kind,
            app: app,
            pns: pns,
            after: after,
            through: through,
            memory: memory
        )
        return template.map(whole.only) ?? whole
    }

    /// Which of these devices are in the audience still, and where they are reached now.
    ///
    /// See ``addresses(of:in:kind:app:pns:memory:)``.
    package func addresses(
        of rows: [Int64],
        in send: SendRequest,
        job: Int64,
        app: AppID,
        pns: PushService,
        memory: AudienceMemory?
    ) async throws -> [Int64: DeviceAddress] {
        if let expression = try await self.expression(of: send, job: job, memory: memory) {
            return try await self.addresses(
                of: rows,
                in: expression,
                kind: send.content.kind,
                app: app,
                pns: pns,
                memory: memory
            )
        }
        guard let first = rows.min(), let last = rows.max() else { return [:] }
        // They are of one page.
        return try await self.recipients(of: job, pns: pns, after: first - 1, through: last, limit: .max).addresses
    }

    /// What selects a send's audience; nil where it has a list.
    ///
    /// Many tags are read only here, where the audience is: while a send waits for its turn nobody keeps them.
    private func expression(
        of send: SendRequest,
        job: Int64,
        memory: AudienceMemory?
    ) async throws -> TagExpression? {
        // A hub over a wire has the expression in its calls.
        guard send.truncatedTags > 0, send.audience.expression != nil else { return send.audience.expression }
        if let known = memory?.recall(TagExpression.self) { return known }
        let whole = try await self.wholeExpression(of: job)
        memory?.keep(whole)
        return whole
    }
}
