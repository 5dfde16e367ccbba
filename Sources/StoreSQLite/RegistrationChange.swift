import GRDB
import PushModel
import Store

/// One change to the registrations (rule 11), within a write transaction.
///
/// A registration's `version` is the sequence of the last change to it, and a change touches only what has a lower one. A handle
/// follows the latest change that claims it, whichever order they come in; ``WriteContext/release(_:_:app:version:)`` keeps that
/// of a handle that nobody has any more.
struct RegistrationChange {
    let context: WriteContext
    let app: Int64
    let user: UserName?
    let sequence: Int64
    let expires: Timestamp?
    /// An operator may change anyone's.
    var ignoresOwner = false

    private var database: Database { self.context.database }
    private var wall: Int64 { self.context.wall.milliseconds }

    func issue(_ candidate: RegistrationID, handles: [Handle]) throws -> RegisterResult {
        // The candidate belongs to this change alone: where it stands, the change was done before.
        if try self.row(candidate) != nil { return .issued(candidate) }
        let holders = try handles.flatMap { handle in
            try PNS.allCases.compactMap { try self.holder(of: handle, $0) }
        }.sorted { $0.row < $1.row }
        guard let kept = holders.first else {
            try self.database.run(
                "INSERT INTO registration(app, id, state, version, updated) VALUES (?, ?, ?, ?, ?)",
                [self.app, candidate.text, Registration.State.issued.number, self.sequence, self.wall]
            )
            return .issued(candidate)
        }
        for other in holders.dropFirst() where other.version < self.sequence {
            try self.replace(other, by: kept.id)
            // This is a change to them: what was asked of them before comes too late.
            try self.database.run("UPDATE registration SET version = ? WHERE row = ?", [self.sequence, other.row])
        }
        return .issued(kept.id)
    }

    func upsert(_ id: RegistrationID, _ upsert: RegisterRequest.Upsert) throws -> RegisterResult {
        guard let row = try self.row(id) else { return .notFound }
        if row.version > self.sequence {
            try self.passOver(upsert, of: row)
            return row.state == .deleted ? .gone : .superseded
        }
        if row.state == .deleted { return .gone }
        // Done before, and ended since: a message that comes again revives nothing.
        if row.version == self.sequence, row.state == .pruned || row.state == .expired { return .done }
        let isOwners = row.state == .issued || row.user == self.user || self.ignoresOwner
        let hasSameHandle = row.handle == upsert.handle && row.pns == upsert.pns
        guard isOwners || hasSameHandle else { return .notFound }
        if !hasSameHandle { try self.release(row) }
        try self.removeFromAudiences(row)
        let isHolder = hasSameHandle && row.state == .live
        let holder = isHolder ? nil : try self.holder(of: upsert.handle, upsert.pns)
        // A later change gave the handle away before this one came: it is as if it had come first.
        if let holder, holder.version > self.sequence {
            try self.write(upsert, to: row.row, endedBy: Self.replaced(by: holder.id))
        } else if try self.context.isClaimed(upsert.handle, upsert.pns, app: self.app, after: self.sequence) {
            if isHolder { try self.context.letGo(of: upsert.handle, upsert.pns, app: self.app, by: row.row) }
            try self.write(upsert, to: row.row, endedBy: "its handle went to a later registration, which has ended")
        } else {
            if let holder { try self.replace(holder, by: id) }
            if !isHolder { try self.context.hold(upsert.handle, upsert.pns, app: self.app, by: row.row) }
            try self.write(upsert, to: row.row, endedBy: nil)
        }
        return .done
    }

    /// Takes a handle from those that had it before a change that comes too late for its own registration.
    private func passOver(_ upsert: RegisterRequest.Upsert, of row: RegistrationRow) throws {
        guard row.user == nil || row.user == self.user || self.ignoresOwner else { return }
        if let holder = try self.holder(of: upsert.handle, upsert.pns), holder.row != row.row,
            holder.version < self.sequence
        {
            try self.replace(holder, by: row.id)
        }
        try self.context.release(upsert.handle, upsert.pns, app: self.app, version: self.sequence)
    }

    /// The live registration that has a handle.
    private func holder(of handle: Handle, _ pns: PNS) throws -> RegistrationRow? {
        guard let row = try self.context.holder(of: handle, pns, app: self.app) else { return nil }
        return try self.database.first(
            "SELECT \(RegistrationRow.columns) FROM \(RegistrationRow.source) WHERE registration.row = ?",
            [row],
            read: RegistrationRow.init
        )
    }

    /// Takes a registration from the audiences that it was in; its row is still to be changed.
    private func removeFromAudiences(_ row: RegistrationRow) throws {
        guard let pns = row.pns else { return }
        try self.database.removeFromAudiences(row.row, pns, row.tags)
    }

    /// Notes that a live registration loses its handle.
    private func release(_ row: RegistrationRow) throws {
        guard row.state == .live, let handle = row.handle, let pns = row.pns else { return }
        try self.context.letGo(of: handle, pns, app: self.app, by: row.row)
        try self.context.release(handle, pns, app: self.app, version: row.version)
    }

    func delete(_ id: RegistrationID) throws -> RegisterResult {
        guard let row = try self.row(id) else { return .notFound }
        if row.state == .deleted { return row.version == self.sequence ? .done : .gone }
        if row.version > self.sequence { return .superseded }
        guard self.user == nil || row.state == .issued || row.user == self.user else { return .notFound }
        try self.release(row)
        try self.database.run(
            """
            UPDATE registration SET state = ?, version = ?, updated = ?, handle = NULL, expires = NULL, ended_at = ?,
                ended_reason = ?, tags = NULL WHERE row = ?
            """,
            [
                Registration.State.deleted.number, self.sequence, self.wall, self.wall,
                self.user == nil ? "deleted by an operator" : "deleted by its user", row.row,
            ]
        )
        try self.removeFromAudiences(row)
        return .done
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
    private func replace(_ holder: RegistrationRow, by id: RegistrationID) throws {
        try self.context.end(holder.row, as: .replaced, reason: Self.replaced(by: id), where: "1", [])
    }

    private static func replaced(by id: RegistrationID) -> String { "its handle went to registration \(id)" }

    /// - Parameters:
    ///   - upsert: What it becomes.
    ///   - row: The registration.
    ///   - reason: Why it is replaced at once; nil = it is live.
    /// - Throws: What SQLite says.
    private func write(_ upsert: RegisterRequest.Upsert, to row: Int64, endedBy reason: String?) throws {
        let state: Registration.State = reason == nil ? .live : .replaced
        let tags = TagList(state == .live ? try self.numbers(of: upsert.tags) : [])
        try self.database.run(
            """
            UPDATE registration SET pns = ?, handle = ?, user = ?, state = ?, version = ?, updated = ?, expires = ?,
                ended_at = ?, ended_reason = ?, tags = ? WHERE row = ?
            """,
            [
                upsert.pns.number, upsert.handle.text, self.user?.name, state.number, self.sequence, self.wall,
                self.expires?.milliseconds, reason == nil ? nil : self.wall, reason, tags.text, row,
            ]
        )
        try self.database.addToAudiences(row, upsert.pns, tags)
    }

    /// The numbers of tags, each once; a user's own has none.
    private func numbers(of tags: [Tag]) throws -> [Int64] {
        try Set(tags.filter { $0.owner == nil }).map { try self.database.ensureNumber(of: $0, app: self.app) }.sorted()
    }
}
