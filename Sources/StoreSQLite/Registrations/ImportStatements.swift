import PushModel
import Store
import StoreKit
import StoreSQL

/// The statements of an import.
struct ImportStatements {
    /// A tag of a registration, as numbers.
    typealias TagOfRow = (tag: Int64, pns: Int64, row: Int64)

    /// A registration that is to be written, with its id and tags.
    typealias NewRow = (row: ImportedRegistration, id: RegistrationID, tags: NumberedTags)

    /// A registration that is there already.
    struct Known {
        let row: Int64
        let id: String
        let state: Int
        let version: Int64
        let pns: Int
        let handle: String?
        let user: ExactText?
        let tags: TagList

        var isLive: Bool { self.state == Registration.State.live.number }
    }

    private static let rows = RowInsert(
        """
        registration(state, app, version, updated, id, handle, pns, user, user_shown, expires, tags, credential, written)
        """,
        constants: ["\(Registration.State.live.number)"],
        most: 64
    )
    private static let entries = RowInsert("handle_index(position, digest, row)", constants: ["0"], most: 64)
    private static let tags = RowInsert("tagged(tag, pns, row)", most: 64)
    private static let names = RowInsert("tag_name(app, name, name_shown)", most: 32)

    private static let known = "r.row, r.id, r.state, r.version, r.pns, r.handle, r.user, r.tags"
    static let hasHandle = "SELECT 1 FROM handle_index WHERE digest = ?1 LIMIT 1"

    private let database: Database
    private let app: Int64
    private let sequence: Int64
    private let wall: Int64
    private let byID: PreparedStatement
    private let byHandle: PreparedStatement
    private let hasHandle: PreparedStatement

    init(_ context: WriteContext, app: Int64, sequence: Int64) throws {
        self.database = context.database
        self.app = app
        (self.sequence, self.wall) = (sequence, context.wall.milliseconds)
        self.byID = try PreparedStatement(
            "SELECT \(Self.known) FROM registration AS r WHERE r.app = ?1 AND r.id = ?2",
            in: self.database
        )
        self.byHandle = try PreparedStatement(HandleIndex.find(Self.known), in: self.database)
        self.hasHandle = try PreparedStatement(Self.hasHandle, in: self.database)
    }

    // MARK: Looking

    func find(_ id: RegistrationID) throws -> Known? {
        try self.byID.bind(self.app, at: 1)
        try self.byID.bind(id.text, at: 2)
        return try self.first(self.byID)
    }

    /// The live registration with a handle of the row's device, whose digest is given.
    func current(for row: ImportedRegistration, _ digest: Int64) throws -> Known? {
        let (handles, slot) = (row.handle.sameDevice(at: row.pns), RegistrationSlot(row))
        try self.byHandle.bind(
            digest,
            handles.lowerBound,
            handles.upperBound,
            slot.number,
            self.app,
            slot.template
        )
        return try self.first(self.byHandle)
    }

    /// Whether a live registration has a handle of that number: this one or another.
    func hasHandle(_ digest: Int64) throws -> Bool {
        try self.hasHandle.bind(digest, at: 1)
        defer { self.hasHandle.reset() }
        return try self.hasHandle.step()
    }

    private func first(_ statement: PreparedStatement) throws -> Known? {
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return Known(
            row: statement.integer(0),
            id: statement.text(1) ?? "",
            state: Int(statement.integer(2)),
            version: statement.integer(3),
            pns: Int(statement.integer(4)),
            handle: statement.text(5),
            user: statement.text(6).map { ExactText($0) },
            tags: try TagList(stored: statement.text(7))
        )
    }

    // MARK: Writing

    /// Inserts new registrations without their handles and tags.
    ///
    /// - Returns: The number of the first, the others follow.
    func insert(_ rows: [NewRow]) throws -> Int64 {
        try Self.rows.insert(rows, into: self.database) { statement, index, new in
            let row = new.row
            try statement.bind(self.app, at: index)
            try statement.bind(self.sequence, at: index + 1)
            try statement.bind(self.wall, at: index + 2)
            try statement.bind(new.id.text, at: index + 3)
            try statement.bind(row.handle.text, at: index + 4)
            try statement.bind(Int64(row.pns.number), at: index + 5)
            try statement.bind(row.user?.key.text, at: index + 6)
            try statement.bind(row.user?.shown, at: index + 7)
            try statement.bind(row.expires?.milliseconds, at: index + 8)
            try statement.bind(new.tags.text, at: index + 9)
            try statement.bind(try self.credential(of: row), at: index + 10)
            try statement.bind(try row.written.map(StoredJSON.text), at: index + 11)
        }
        return self.database.lastInsertedRowID - Int64(rows.count) + 1
    }

    /// Adds entries of handles with unused digests.
    func insert(_ entries: [HandleIndex.Entry]) throws {
        try Self.entries.insert(entries, into: self.database) { statement, index, entry in
            try statement.bind(entry.digest, at: index)
            try statement.bind(entry.row, at: index + 1)
        }
    }

    /// Adds tags to registrations that do not have them.
    func addTags(_ tags: [TagOfRow]) throws {
        try Self.tags.insert(tags, into: self.database) { statement, index, tag in
            try statement.bind(tag.tag, at: index)
            try statement.bind(tag.pns, at: index + 1)
            try statement.bind(tag.row, at: index + 2)
        }
    }

    func dropTag(_ tag: Int64, _ pns: PushService, _ row: Int64) throws {
        try self.database.run("DELETE FROM tagged WHERE tag = ? AND pns = ? AND row = ?", [tag, pns.number, row])
    }

    func update(_ known: Known, to row: ImportedRegistration, tags: NumberedTags) throws {
        // Columns that keep their value are not named: each would cost its index a change.
        try self.database.run(
            """
            UPDATE registration SET version = ?, updated = ?, expires = ?, tags = ?, credential = ?, written = coalesce(?, written)
            WHERE row = ?
            """,
            [
                self.sequence, self.wall, row.expires, tags.text, self.credential(of: row),
                row.written.map(StoredJSON.text), known.row,
            ]
        )
        guard known.user != row.user?.key else { return }
        try self.database.run(
            "UPDATE registration SET user = ?, user_shown = ? WHERE row = ?",
            [row.user?.key.text, row.user?.shown, known.row]
        )
    }

    /// The number of a row's credential; nil for the default one.
    private func credential(of row: ImportedRegistration) throws -> Int64? {
        try self.database.ensureNumber(of: row.credential, row.pns, app: self.app)
    }

    /// The numbers of tags, given now if need be.
    func numbers(of tags: [Tag]) throws -> [Tag: Int64] {
        let found = try self.database.answer(
            "SELECT number, name FROM tag_name WHERE app = \(self.app) AND name IN (\(texts: tags.map(\.key)))"
        ).rows
        var known: [ExactText: Int64] = [:]
        for row in found { known[ExactText(try row["name"])] = try row["number"] }
        var numbers: [Tag: Int64] = [:]
        for tag in tags { numbers[tag] = known[ExactText(tag.key)] }
        let new = tags.filter { numbers[$0] == nil }
        try Self.names.insert(new, into: self.database) { statement, index, tag in
            try statement.bind(self.app, at: index)
            try statement.bind(tag.key, at: index + 1)
            try statement.bind(tag.shown, at: index + 2)
        }
        let first = self.database.lastInsertedRowID - Int64(new.count) + 1
        for (number, tag) in zip(first..., new) { numbers[tag] = number }
        return numbers
    }
}
