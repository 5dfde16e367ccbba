import PushModel
import Store
import StoreKit

/// One change to the registrations (rule 11), within a write transaction.
///
/// A registration's `version` is the sequence of its last change, and a change applies only to lower versions. A handle
/// belongs to the latest change that claims it, in any order of arrival; ``WriteContext/release(_:_:app:version:)``
/// keeps that sequence for handles that left their registration.
struct RegistrationChange {
    let context: WriteContext
    let app: Int64
    let user: UserName?
    let sequence: Int64
    let expires: Timestamp?
    /// How many live registrations the user may have; nil = any number.
    let most: Int?
    /// On whose word it is made.
    var authority = RegistrationDecision.Authority.owner

    var database: Database { self.context.database }
    private var wall: Int64 { self.context.wall.milliseconds }
    private var decision: RegistrationDecision {
        RegistrationDecision(sequence: self.sequence, user: self.user, authority: self.authority)
    }

    func issue(_ candidate: RegistrationID, handles: [Handle]) throws -> RegisterResult {
        // The candidate is unique to this change: if it exists, the change was applied before.
        if try self.row(candidate) != nil { return .issued(candidate) }
        let registrations = try handles.flatMap { handle in
            try PushService.allCases.compactMap { try self.registration(with: handle, RegistrationSlot($0)) }
        }.sorted { $0.row < $1.row }
        // An id that may never be used is not stored: the first put creates it.
        guard let kept = registrations.first else { return .issued(candidate) }
        for other in registrations.dropFirst() where other.version < self.sequence {
            try self.replace(other, by: kept.id)
            // This is a change to them: earlier changes that arrive later must not apply.
            try self.database.run("UPDATE registration SET version = ? WHERE row = ?", [self.sequence, other.row])
            try self.forgetRemovedUser(of: other)
        }
        return .issued(kept.id)
    }

    func create(_ candidate: RegistrationID, _ upsert: RegisterRequest.Upsert) throws -> RegisterResult {
        // Where the candidate stands, the change was done before.
        let current = try self.row(candidate) ?? self.registration(with: upsert.handle, RegistrationSlot(upsert))
        let id = current?.id ?? candidate
        // Of a registration that is there, nothing else comes but that it is changed, or was by a later change.
        if case .refused(let reason) = try self.upsert(id, upsert) { return .refused(reason) }
        return .issued(id)
    }

    func upsert(_ id: RegistrationID, _ upsert: RegisterRequest.Upsert) throws -> RegisterResult {
        let row = try self.row(id)
        let slot = RegistrationSlot(upsert)
        // Of the same device; its keys may be others, and the latest are the ones to send with.
        let hasSameHandle =
            row?.slot == slot
            && row?.handle.map { upsert.handle.sameDevice(at: upsert.pns).contains($0.text) } == true
        if let row {
            switch self.decision.upsert(at: row.status, hasSameHandle: hasSameHandle) {
            case .apply: break
            case .end(let result): return result
            case .passOver(let result):
                try self.passOver(upsert, of: id)
                return result
            }
        }
        if let deletion = try self.context.deletion(of: id, by: self.user, app: self.app, after: self.sequence) {
            // Its user deleted it before this change was done that made it, or took it over from another.
            if let row { try self.delete(row, version: deletion) }
            try self.passOver(upsert, of: id)
            return .superseded
        }
        if let refusal = try self.refusal(of: upsert, replacing: row) {
            return refusal
        }
        if let row {
            if !hasSameHandle { try self.release(row) }
            try self.removeFromAudiences(row)
            if hasSameHandle, let former = row.user, former != self.user {
                try self.endTemplates(of: row, user: former)
            }
        }
        let hasHandle = hasSameHandle && row?.state == .live
        let reason = hasHandle ? try self.reasonToEnd(upsert, holder: nil) : try self.claim(upsert, for: id)
        let number = try self.write(upsert, to: row?.row, id, endedBy: reason)
        if reason == nil {
            if !hasHandle { try self.context.addHandle(upsert.handle, slot, app: self.app, by: number) }
            if row?.state != .live || row?.user != self.user { try self.endOldest(slot) }
        } else if hasHandle {
            try self.context.removeHandle(upsert.handle, slot, app: self.app, by: number)
        }
        if row == nil { try self.forgetOldest() }
        return .done
    }

    /// Takes the handle from its present registration.
    ///
    /// The holder is looked for and replaced in one transaction. Of two writers each would find none, and both registrations be live: there a
    /// unique index on the digest says so, and the change is made again.
    ///
    /// - Returns: The reason that the registration does not get it; nil = it gets it.
    private func claim(_ upsert: RegisterRequest.Upsert, for id: RegistrationID) throws -> String? {
        let holder = try self.registration(with: upsert.handle, RegistrationSlot(upsert))
        if let reason = try self.reasonToEnd(upsert, holder: holder) { return reason }
        if let holder { try self.replace(holder, by: id) }
        return nil
    }

    private func reasonToEnd(_ upsert: RegisterRequest.Upsert, holder: RegistrationRow?) throws -> String? {
        let isLater = try self.context.isClaimed(
            upsert.handle,
            RegistrationSlot(upsert),
            app: self.app,
            after: self.sequence
        )
        switch self.decision.claim(from: holder?.asHolder, isClaimedLater: isLater) {
        case .given: return nil
        case .refused(let reason): return reason
        }
    }

    /// Takes a handle from those that had it before a change that comes too late for its own registration.
    private func passOver(_ upsert: RegisterRequest.Upsert, of id: RegistrationID) throws {
        let slot = RegistrationSlot(upsert)
        if let holder = try self.registration(with: upsert.handle, slot),
            self.decision.passesOver(holder.asHolder, for: id)
        {
            try self.replace(holder, by: id)
        }
        try self.context.release(upsert.handle, slot, app: self.app, version: self.sequence)
    }

    /// The live registration that has a handle of the same device.
    func registration(with handle: Handle, _ slot: RegistrationSlot) throws -> RegistrationRow? {
        try self.context.registration(with: handle, slot, app: self.app).flatMap { try self.row(number: $0) }
    }

    func row(number: Int64) throws -> RegistrationRow? {
        try self.database.first(
            "SELECT \(RegistrationRow.columns) FROM \(RegistrationRow.source) WHERE registration.row = ?",
            [number],
            read: RegistrationRow.init
        )
    }

    /// Takes a registration from the audiences that it was in; its row is still to be changed.
    private func removeFromAudiences(_ row: RegistrationRow) throws {
        guard let slot = row.slot else { return }
        try self.database.removeFromAudiences(row.row, slot, row.tags)
    }

    /// Notes that a live registration loses its handle.
    private func release(_ row: RegistrationRow) throws {
        guard row.state == .live, let handle = row.handle, let slot = row.slot else { return }
        try self.context.removeHandle(handle, slot, app: self.app, by: row.row)
        try self.context.release(handle, slot, app: self.app, version: row.version)
    }

    /// Changes the tags and the credential of a live registration, and nothing else: neither its version nor when it was updated.
    ///
    /// So an earlier change that is done after a patch loses nothing by it, and a later one that is done before it supersedes it. A
    /// patch is done once (``WriteContext/applyOnce(_:_:)``): repeated after a later one it would undo that.
    func patch(_ id: RegistrationID, _ patch: RegisterRequest.Patch) throws -> RegisterResult {
        let row = try self.row(id)
        let tagFinder = try TagFinder(self.database, app: self.app)
        let removed = try patch.remove.compactMap { try tagFinder.find($0) }
        let kept = Set((row?.tags.numbers ?? []).map { StoredTag.number($0) }).subtracting(removed)
        // Before a tag that is new to the app has a number: numbers stay.
        let added = try Set(patch.add).filter { try !(tagFinder.find($0).map(kept.contains) ?? false) }
        let refusal = self.decision.refusal(
            of: patch,
            at: row?.status,
            row?.slot?.pns,
            kept: kept.count,
            added: added.count
        )
        guard let row, let slot = row.slot, refusal == nil else { return refusal ?? .notFound }
        let left = row.tags.numbers.filter { kept.contains(.number($0)) }
        let tags = TagList(Set(left).union(try self.numbers(of: patch.add)).sorted())
        try self.database.removeFromAudiences(row.row, slot, row.tags)
        let credential = patch.credential?.name ?? row.credential
        try self.database.run(
            "UPDATE registration SET tags = ?, credential = ? WHERE row = ?",
            [tags.text, self.database.ensureNumber(of: credential, slot.pns, app: self.app), row.row]
        )
        try self.database.addToAudiences(row.row, slot, tags)
        return .done
    }

    func delete(_ id: RegistrationID) throws -> RegisterResult {
        let row = try self.row(id)
        switch self.decision.deletion(of: row?.status) {
        case .apply:
            if let row { try self.delete(row, version: self.sequence) }
            return .done
        case .end(let result): return result
        case .remember:
            try self.context.remember(
                deletionOf: id,
                by: self.user,
                app: self.app,
                version: self.sequence,
                most: self.most
            )
            return .notFound
        }
    }

    func delete(_ row: RegistrationRow, version: Int64) throws {
        try self.release(row)
        try self.database.run(
            """
            UPDATE registration SET state = \(Registration.State.deleted.number), version = ?, updated = ?, handle = NULL,
                written = NULL, expires = NULL, ended_at = ?, ended_reason = ?, tags = NULL, template = NULL WHERE row = ?
            """,
            [
                version, self.wall, self.wall,
                self.user == nil ? "deleted by the app" : "deleted by its user", row.row,
            ]
        )
        try self.removeFromAudiences(row)
        try self.forgetRemovedUser(of: row)
    }

    /// A change after the removal of the registration's user hides it from the removal, which passes over later ones.
    private func forgetRemovedUser(of row: RegistrationRow) throws {
        guard try self.context.isRemoved(row.user, app: self.app, after: row.version) else { return }
        try self.database.run(
            "UPDATE registration SET user = NULL, user_shown = NULL, handle = NULL, written = NULL WHERE row = ?",
            [row.row]
        )
    }

    private func row(_ id: RegistrationID) throws -> RegistrationRow? {
        try self.database.first(
            "SELECT \(RegistrationRow.columns) FROM \(RegistrationRow.source) "
                + "WHERE registration.app = ? AND registration.id = ?",
            [self.app, id.text],
            read: RegistrationRow.init
        )
    }

    /// Takes a registration's handle from it.
    private func replace(_ current: RegistrationRow, by id: RegistrationID) throws {
        // The device begins anew: what its templates were for goes with what it was.
        try self.endTemplates(of: current)
        try self.context.end(current.row, as: .replaced, reason: RegistrationDecision.replaced(by: id), where: "1", [])
    }

    /// - Parameters:
    ///   - upsert: The upsert.
    ///   - row: The registration; nil = it is new.
    ///   - id: Its id.
    ///   - reason: The reason that it is replaced at once; nil = it is live.
    /// - Returns: The registration's row.
    /// - Throws: SQLite's error.
    private func write(
        _ upsert: RegisterRequest.Upsert,
        to row: Int64?,
        _ id: RegistrationID,
        endedBy reason: String?
    ) throws -> Int64 {
        let state: Registration.State = reason == nil ? .live : .replaced
        let slot = RegistrationSlot(upsert)
        let template = state == .live ? try self.database.ensureNumber(of: upsert.template, app: self.app) : nil
        let tags = TagList(state == .live ? try self.numbers(of: upsert.tags) : [])
        let credential = try self.database.ensureNumber(
            of: upsert.credential ?? .default,
            upsert.pns,
            app: self.app
        )
        let values: Database.Values = [
            slot.number, credential, upsert.handle.text, self.user?.key.text, self.user?.shown, state.number,
            self.sequence,
            self.wall, self.expires?.milliseconds, reason == nil ? nil : self.wall, reason, tags.text,
            template, slot.template, try upsert.written.map(StoredJSON.text),
        ]
        let number: Int64
        if let row {
            try self.database.run(
                """
                UPDATE registration SET pns = ?, credential = ?, handle = ?, user = ?, user_shown = ?, state = ?, version = ?,
                    updated = ?, expires = ?, ended_at = ?, ended_reason = ?, tags = ?, template = ?, template_slot = ?,
                    written = ? WHERE row = ?
                """,
                values + [row]
            )
            number = row
        } else {
            try self.database.run(
                """
                INSERT INTO registration(pns, credential, handle, user, user_shown, state, version, updated, expires, ended_at,
                    ended_reason, tags, template, template_slot, written, app, id)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                values + [self.app, id.text]
            )
            number = self.database.lastInsertedRowID
        }
        try self.database.addToAudiences(number, slot, tags)
        return number
    }

    /// The numbers of tags, each once; a user's own has none.
    private func numbers(of tags: [Tag]) throws -> [Int64] {
        try Set(tags.filter { $0.owner == nil }).map { try self.database.ensureNumber(of: $0, app: self.app) }.sorted()
    }
}

// MARK: How many a user has

extension RegistrationChange {
    /// Whether the job of a registration's last change, and so all before it, can change nothing any more; `?` is the store's time.
    static let isFinal = "NOT EXISTS (SELECT 1 FROM job WHERE job.sequence = registration.version AND job.ends > ?)"

    static let hasMore = """
        SELECT 1 FROM registration WHERE app = ? AND user = ? AND \(RegistrationRow.isLive) AND pns BETWEEN ? AND ? LIMIT 1 OFFSET ?
        """
    /// With a limit: an import may have given the user any number.
    static let oldest = """
        SELECT row FROM (SELECT row, version FROM registration WHERE app = ? AND user = ? AND \(RegistrationRow.isLive)
            AND pns BETWEEN ? AND ? LIMIT ?)
        ORDER BY version, row LIMIT 1
        """
    static let hasMorePast = """
        SELECT 1 FROM registration WHERE app = ? AND user = ? AND \(RegistrationRow.hasEnded) ORDER BY version LIMIT 1 OFFSET ?
        """
    static let oldestPast = """
        SELECT row FROM registration WHERE app = ? AND user = ? AND \(RegistrationRow.hasEnded) ORDER BY version LIMIT 2
        """

    /// Ends the registration of the user that was changed longest ago, where there is now one more than may be.
    private func endOldest(_ slot: RegistrationSlot) throws {
        guard let user = self.user?.key.text, let devices = self.most else { return }
        let bound = RegistrationBound(devices: devices, slot.kind)
        let (first, last) = slot.numbers
        guard try self.database.exists(Self.hasMore, [self.app, user, first, last, bound.most]),
            let row: Int64 = try self.database.value(Self.oldest, [self.app, user, first, last, bound.most + 1])
        else { return }
        try self.context.end(row, as: .replaced, reason: bound.reason, where: "1", [])
    }

    /// Forgets ended registrations of a user with many, except those that an earlier change may still concern.
    ///
    /// Two for each new one, so that their number stays below that of a day's changes.
    private func forgetOldest() throws {
        guard let user = self.user?.key.text, let most = self.most,
            try self.database.exists(Self.hasMorePast, [self.app, user, most])
        else { return }
        for row: Int64 in try self.database.values(Self.oldestPast, [self.app, user]) {
            try self.database.run(
                "DELETE FROM registration WHERE row = ? AND \(Self.isFinal)",
                [row, self.context.now]
            )
        }
    }
}
