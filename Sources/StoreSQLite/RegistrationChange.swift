import GRDB
import PushModel
import Store

/// One change to the registrations (rule 11), within a write transaction.
///
/// A registration's `version` is the sequence of the last change that touched it, and a change touches only what has a lower
/// one. A handle follows the latest change that claims it, whichever order they come in.
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
            try self.database.all(
                "SELECT \(RegistrationRow.columns) FROM \(RegistrationRow.source) "
                    + "WHERE registration.app = ? AND registration.handle = ? AND registration.state = 1",
                [self.app, handle.text],
                read: RegistrationRow.init
            )
        }.sorted { $0.row < $1.row }
        guard let kept = holders.first else {
            try self.database.run(
                "INSERT INTO registration(app, id, state, version, updated) VALUES (?, ?, ?, ?, ?)",
                [self.app, candidate.text, Registration.State.issued.number, self.sequence, self.wall]
            )
            return .issued(candidate)
        }
        for other in holders.dropFirst() where other.version < self.sequence { try self.replace(other, by: kept.id) }
        return .issued(kept.id)
    }

    func upsert(_ id: RegistrationID, _ upsert: RegisterRequest.Upsert) throws -> RegisterResult {
        guard let row = try self.row(id) else { return .notFound }
        if row.state == .deleted { return .gone }
        if row.version > self.sequence { return .superseded }
        let isOwners = row.state == .issued || row.user == self.user || self.ignoresOwner
        let hasSameHandle = row.handle == upsert.handle && row.pns == upsert.pns
        guard isOwners || hasSameHandle else { return .notFound }
        let holders = try self.database.all(
            "SELECT \(RegistrationRow.columns) FROM \(RegistrationRow.source) WHERE registration.app = ? "
                + "AND registration.handle = ? AND registration.pns = ? AND registration.state = 1 AND registration.row <> ?",
            [self.app, upsert.handle.text, upsert.pns.number, row.row],
            read: RegistrationRow.init
        )
        try self.database.run("DELETE FROM registration_tag WHERE row = ?", [row.row])
        if let later = holders.first(where: { $0.version > self.sequence }) {
            // A later change gave the handle away before this one came: it is as if it had come first.
            try self.write(upsert, to: row.row, state: .replaced, endedBy: later.id)
            return .done
        }
        for holder in holders { try self.replace(holder, by: id) }
        try self.write(upsert, to: row.row, state: .live, endedBy: nil)
        try self.insertTags(of: upsert, row: row.row)
        return .done
    }

    func delete(_ id: RegistrationID) throws -> RegisterResult {
        guard let row = try self.row(id) else { return .notFound }
        if row.state == .deleted { return row.version == self.sequence ? .done : .gone }
        if row.version > self.sequence { return .superseded }
        guard self.user == nil || row.state == .issued || row.user == self.user else { return .notFound }
        try self.database.run(
            """
            UPDATE registration SET state = ?, version = ?, updated = ?, handle = NULL, expires = NULL, ended_at = ?,
                ended_reason = ? WHERE row = ?
            """,
            [
                Registration.State.deleted.number, self.sequence, self.wall, self.wall,
                self.user == nil ? "deleted by an operator" : "deleted by its user", row.row,
            ]
        )
        try self.database.run("DELETE FROM registration_tag WHERE row = ?", [row.row])
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
        try self.database.run("UPDATE registration SET version = ? WHERE row = ?", [self.sequence, holder.row])
    }

    private static func replaced(by id: RegistrationID) -> String { "its handle went to registration \(id)" }

    private func write(
        _ upsert: RegisterRequest.Upsert,
        to row: Int64,
        state: Registration.State,
        endedBy later: RegistrationID?
    ) throws {
        try self.database.run(
            """
            UPDATE registration SET pns = ?, handle = ?, user = ?, state = ?, version = ?, updated = ?, expires = ?,
                ended_at = ?, ended_reason = ? WHERE row = ?
            """,
            [
                upsert.pns.number, upsert.handle.text, self.user?.name, state.number, self.sequence, self.wall,
                self.expires?.milliseconds, later == nil ? nil : self.wall, later.map(Self.replaced(by:)), row,
            ]
        )
    }

    private func insertTags(of upsert: RegisterRequest.Upsert, row: Int64) throws {
        let own = self.user.map { [Tag(user: $0)] } ?? []
        for tag in Set(upsert.tags + own) {
            var number = try self.database.first(
                "SELECT number FROM tag WHERE app = ? AND name = ?",
                [self.app, tag.name]
            ) {
                $0[0] as Int64
            }
            if number == nil {
                try self.database.run("INSERT INTO tag(app, name) VALUES (?, ?)", [self.app, tag.name])
                number = self.database.lastInsertedRowID
            }
            try self.database.run(
                "INSERT INTO registration_tag(tag, pns, row) VALUES (?, ?, ?)",
                [number, upsert.pns.number, row]
            )
        }
    }
}
