package import PushModel
package import Store
package import StoreKit

/// The registrations of an app, as an engine changes them.
package struct RegistrationTable: Sendable {
    /// The app's number.
    let app: Int64
    let clock: StoreClock
    let digest: HandleDigest
    /// Whether others may write between what a change reads and what it writes.
    var hasOtherWriters: Bool { self.digest.isWide }

    package init(app: Int64, clock: StoreClock, digest: HandleDigest) {
        (self.app, self.clock, self.digest) = (app, clock, digest)
    }

    /// What ``StoreKit/KeptRegistration`` is read from.
    static let columns: SQLStatement = """
        registration.row, registration.id, registration.pns, registration.template_slot, registration.handle, registration."user",
        registration.user_shown, registration.state, registration.version, registration.updated, registration.expires,
        registration.ended_at, registration.ended_reason, registration.tags, registration.written,
        (SELECT name FROM credential WHERE credential.number = registration.credential) AS credential_name,
        (SELECT content FROM template WHERE template.number = registration.template) AS content
        """

    /// Changes registrations for a register job.
    ///
    /// With one writer, changes and the acceptance of a removal come one after the other. With several, ``RegistrationFence`` sees to that,
    /// and the unique index on the digest of a handle has the last word.
    ///
    /// - Returns: The transaction: the result; nil = its tags have numbers now, and it is to be done again.
    package func register(_ request: RegisterRequest, of job: RegisterJob) -> SQLTransaction<RegisterResult?> {
        let now = self.clock.now
        return self.change(request, RegistrationTerms(request, of: job, at: Timestamp(milliseconds: now))) { job in
            // Its worker may have been halted since it read the job, and released handles are remembered only as long
            // as jobs live.
            if let ends = try job?["ends"] as Int64?, ends <= now { return .refused("its time is over") }
            guard request.isAppliedOnce else { return nil }
            if let text = try job?["result"] as String? {
                return try StoredJSON.value(RegisterResult.self, from: text)
            }
            let isOpen = try job.map { try $0["finished"] as Int64? == nil } ?? false
            return isOpen ? nil : .refused("its job has ended")
        }
    }

    /// Changes registrations on terms of its own, as an import does.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - terms: Its terms.
    ///   - done: The result by its job's row, if it is not to be made.
    /// - Returns: The transaction, as that of ``register(_:of:)``.
    package func change(
        _ request: RegisterRequest,
        _ terms: RegistrationTerms,
        unless done: @escaping @Sendable (SQLRow?) throws -> RegisterResult? = { _ in nil }
    ) -> SQLTransaction<RegisterResult?> {
        let job: SQLStatement = "SELECT result, ends, finished FROM job WHERE sequence = \(terms.sequence)"
        let reading = RegistrationReading(request, terms, self)
        let reads = [job, self.removal(of: terms.user, after: terms.sequence)] + reading.statements
        return SQLTransaction(reading: reads) { answers in
            var rows = answers[...]
            if let result = try done(rows.removeFirst().first) { return .nothing(result) }
            guard rows.removeFirst().isEmpty else { return .nothing(.refused(UserTraces.refusal)) }
            var change = RegistrationChange(terms, try reading.known(rows), at: self.clock.wall)
            let result = try change.apply(request)
            guard change.newTags.isEmpty else {
                return SQLDecision(writing: change.newTags.map(self.mention), giving: nil)
            }
            var writes = self.statements(for: change)
            if self.hasOtherWriters, !writes.isEmpty {
                writes = RegistrationFence(table: self).around(writes, of: change, request, reading.guards(rows))
            }
            if request.isAppliedOnce {
                let text = try StoredJSON.text(result)
                let keep: SQLStatement = """
                    UPDATE job SET result = \(text) WHERE sequence = \(terms.sequence) AND finished IS NULL
                    """
                writes.append(keep.expecting(1))
            }
            return SQLDecision(writing: writes, giving: result)
        }
    }

    private func mention(_ tag: Tag) -> SQLStatement {
        """
        INSERT INTO tag_name(app, name, name_shown) VALUES (\(self.app), \(tag.key), \(tag.shown)) ON CONFLICT (app, name) DO NOTHING
        """
    }
}

extension RegisterRequest {
    /// Whether a repeat after other changes would undo those, so that its result is kept with its job.
    fileprivate var isAppliedOnce: Bool {
        switch self {
        case .create, .install, .patch: true
        case .issue, .upsert, .delete, .removeUser, .channel: false
        }
    }
}

extension KeptRegistration {
    /// Reads ``RegistrationTable/columns``.
    init(_ row: SQLRow) throws {
        self.init(
            row: try row["row"],
            id: try RegistrationID(stored: row["id"]),
            state: try Registration.State(number: row["state"]),
            version: try row["version"],
            updated: try row["updated"]
        )
        self.slot = try RegistrationSlot.stored(row["pns"], row["template_slot"])
        self.handle = (try row["handle"] as String?).map(Handle.init(stored:))
        self.credential = try (row["credential_name"] as String?).map { try CredentialName(stored: $0) } ?? .default
        self.user = try (row["user"] as String?).map { try UserName(stored: $0, shown: row["user_shown"]) }
        self.expires = try row["expires"]
        self.ended = try (row["ended_at"] as Timestamp?).map {
            Registration.Ended(at: $0, reason: try row["ended_reason"] ?? "")
        }
        self.tags = try TagList(stored: row["tags"])
        (self.content, self.written) = (try row["content"], try row["written"])
    }
}
