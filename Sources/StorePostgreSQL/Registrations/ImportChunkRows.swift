import PushModel
import Store
import StoreKit
import StoreSQL

/// Rows of an import, no two with one id, which are written together: each table by one statement.
///
/// That is for new registrations, and for those that are renewed; the others are written one by one behind them.
struct ImportChunkRows: Sendable {
    let rows: [ImportedRegistration]
    private let app: AppID
    private let number: Int64
    private let table: RegistrationTable
    private let handles: HandleDigest
    private let sequence: Int64
    private let wall: Timestamp
    /// Of their handles, by index.
    private let digests: [[UInt8]]

    init(
        _ rows: [ImportedRegistration],
        app: (name: AppID, number: Int64),
        of table: RegistrationTable,
        sequence: Int64,
        _ store: PostgreSQLStore
    ) {
        self.rows = rows
        (self.app, self.number) = app
        (self.table, self.sequence, self.wall) = (table, sequence, store.clock.wall)
        self.handles = store.handles
        self.digests = rows.map {
            store.handles.bytes(of: $0.handle, $0.pns, RegistrationSlot($0).kind, app: app.number)
        }
    }

    func single(_ index: Int) -> ImportedSingle {
        ImportedSingle(
            row: self.rows[index],
            app: self.app,
            table: self.table,
            number: self.number,
            sequence: self.sequence
        )
    }

    /// Writes what can be written together: a result for each row, nil for those that are left; nil = its names have numbers now, and it is
    /// to be done again.
    var transaction: SQLTransaction<[ImportResult?]?> {
        let late = self.laterChanges
        return SQLTransaction(reading: self.known + late) { answers in
            let known = try Known(answers)
            let plan = self.plan(known)
            let writes = ImportWrites(app: self.number, sequence: self.sequence, wall: self.wall)
            if let mentions = writes.mentions(plan.missing) { return SQLDecision(writing: mentions, giving: nil) }
            guard !plan.new.isEmpty || !plan.renewed.isEmpty else { return .nothing(plan.results) }
            var all = self.table.importFence + [writes.hold]
            all += try writes.insert(plan.new)
            all += try writes.renew(plan.renewed)
            // What came meanwhile stands.
            all += zip(late, answers.suffix(late.count)).map { $0.expecting($1.count) }
            return SQLDecision(writing: all, giving: plan.results)
        }
    }

    // MARK: Reading

    private var ids: [String] { self.rows.compactMap(\.id?.text) }

    private var known: [SQLStatement] {
        let registrations: SQLStatement = "SELECT \(ImportKnown.columns) FROM registration"
        let tags = Set(self.rows.flatMap(\.tags).filter { $0.owner == nil }.map(\.key))
        let credentials = Set(self.rows.compactMap { $0.credential.named?.name })
        return [
            // Each by itself: of a join or a list of values the server may take it that an app has few, and walk through all of them.
            """
            SELECT \(ImportKnown.columns) FROM unnest(\(SQLArray.texts(self.ids))) AS asked(id) CROSS JOIN LATERAL (
                SELECT * FROM registration WHERE app = \(self.number) AND registration.id = asked.id LIMIT 1) AS registration
            """,
            """
            \(registrations) WHERE digest = ANY(\(SQLArray.byteStrings(self.digests))) AND \(raw: KeptRegistration.live)
            """,
            """
            SELECT asked.name, found.number FROM unnest(\(SQLArray.texts(Array(tags)))) AS asked(name) CROSS JOIN LATERAL (
                SELECT number FROM tag_name WHERE app = \(self.number) AND tag_name.name = asked.name LIMIT 1) AS found
            """,
            """
            SELECT pns, name, number FROM credential
            WHERE app = \(self.number) AND name = ANY(\(SQLArray.texts(Array(credentials))))
            """,
        ]
    }

    /// Finds those of which a handle was claimed, an id deleted or a user removed since the import began.
    ///
    /// Nearly always there is no such change at all, and nothing is looked for.
    private var laterChanges: [SQLStatement] {
        let released = self.rows.map { ReleasedHandle($0.handle, RegistrationSlot($0)) }
        let users = self.rows.compactMap { $0.user.map(self.handles.number) }
        let (app, sequence) = (self.number, self.sequence)
        let slots = SQLArray.integers(released.map { Int64($0.slot) })
        let handles = SQLArray.byteStrings(released.map(\.digest))
        let ids = SQLArray.texts(self.ids)
        func isAny(_ table: String) -> SQLStatement {
            "EXISTS (SELECT 1 FROM \(raw: table) WHERE version > \(sequence))"
        }
        return [
            """
            SELECT given.place FROM unnest(\(slots), \(handles))
                WITH ORDINALITY AS given(pns, handle, place)
            WHERE \(isAny("released_handle")) AND (SELECT version > \(sequence) FROM released_handle
                WHERE app = \(app) AND pns = given.pns AND handle = given.handle)
            """,
            """
            SELECT given.id FROM unnest(\(ids)) AS given(id)
            WHERE \(isAny("tombstone")) AND (SELECT max(version) > \(sequence) FROM tombstone
                WHERE app = \(app) AND tombstone.id = given.id)
            """,
            """
            SELECT given.digest FROM unnest(\(SQLArray.integers(users))) AS given(digest)
            WHERE \(isAny("removed_user")) AND (SELECT version > \(sequence) FROM removed_user
                WHERE app = \(app) AND removed_user.digest = given.digest)
            """,
        ]
    }

    private struct Known {
        var byID: [RegistrationID: ImportKnown] = [:]
        var byDigest: [[UInt8]: ImportKnown] = [:]
        var names = ImportNames()
        var lateRows: Set<Int> = []
        var lateIDs: Set<RegistrationID> = []
        var lateUsers: Set<Int64> = []

        init(_ answers: [[SQLRow]]) throws {
            for row in answers[0] {
                let known = try ImportKnown(row)
                self.byID[known.id] = known
            }
            for row in answers[1] {
                let known = try ImportKnown(row)
                if let digest = known.digest { self.byDigest[digest] = known }
            }
            for row in answers[2] { self.names.tags[ExactText(try row["name"])] = try row["number"] }
            for row in answers[3] {
                let credential = ImportNames.Credential(pns: try row["pns"], name: try row["name"])
                self.names.credentials[credential] = try row["number"]
            }
            for row in answers[4] {
                let place: Int = try row["place"]
                self.lateRows.insert(place - 1)
            }
            for row in answers[5] { self.lateIDs.insert(try RegistrationID(stored: row["id"])) }
            for row in answers[6] { self.lateUsers.insert(try row["digest"]) }
        }
    }

    // MARK: Deciding

    private struct Plan {
        var results: [ImportResult?]
        var new: [ImportWrites.New] = []
        var renewed: [ImportWrites.Renewed] = []
        var missing = ImportNames.Missing()
    }

    private func plan(_ known: Known) -> Plan {
        var plan = Plan(results: Array(repeating: nil, count: self.rows.count))
        var digests: Set<[UInt8]> = []
        // Registrations of rows that are written behind all others: rows that come later come behind those.
        var later: Set<Int64> = []
        for (index, row) in self.rows.enumerated() {
            let digest = self.digests[index]
            let (found, holder) = (row.id.flatMap { known.byID[$0] }, known.byDigest[digest])
            let isFirst = digests.insert(digest).inserted
            let touched = [found?.row, holder?.row].compactMap { $0 }
            let isLate =
                known.lateRows.contains(index) || row.id.map(known.lateIDs.contains) == true
                || row.user.map { known.lateUsers.contains(self.handles.number(of: $0)) } == true
            guard row.template == nil, isFirst, !isLate, later.isDisjoint(with: touched) else {
                later.formUnion(touched)
                continue
            }
            guard let one = found ?? (row.id == nil ? holder : nil) else {
                guard holder == nil else {
                    later.formUnion(touched)
                    continue
                }
                plan.results[index] = .created
                let names = known.names.numbers(of: row, &plan.missing)
                plan.new.append(.init(row: row, digest: digest, names: names))
                continue
            }
            if one.state == .deleted {
                plan.results[index] = .gone
            } else if one.version > self.sequence {
                plan.results[index] = .superseded
            } else if one.isRenewed(by: row) {
                plan.results[index] = .updated
                let names = known.names.numbers(of: row, &plan.missing)
                plan.renewed.append(.init(row: row, known: one, names: names))
            } else {
                later.formUnion(touched)
            }
        }
        return plan
    }
}
