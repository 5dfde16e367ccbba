import GRDB
import PushModel
import Store

/// The statements of an import, each prepared once.
struct ImportStatements {
    /// A registration that is there already.
    struct Known {
        let row: Int64
        let id: String
        let state: Int
        let version: Int64
        let pns: Int
        let handle: String?
        let user: String?

        var isLive: Bool { self.state == Registration.State.live.number }
    }

    private static let known = "SELECT row, id, state, version, pns, handle, user FROM registration "
    static let byID = known + "WHERE app = ?1 AND id = ?2"
    static let byHandle = known + "WHERE app = ?1 AND handle = ?2 AND pns = ?3 AND state = 1"
    static let tagsOfRow = "SELECT tag FROM registration_tag WHERE row = ?1"

    private let database: Database
    private let byID: RawStatement
    private let byHandle: RawStatement
    private let insert: RawStatement
    private let renew: RawStatement
    private let handOver: RawStatement
    private let tagsOfRow: RawStatement
    private let addTag: RawStatement
    private let dropTag: RawStatement
    private let makeTag: RawStatement
    private let findTag: RawStatement

    init(_ database: Database) throws {
        self.database = database
        self.byID = try RawStatement(Self.byID, in: database)
        self.byHandle = try RawStatement(Self.byHandle, in: database)
        self.insert = try RawStatement(
            """
            INSERT INTO registration(app, version, updated, state, id, handle, pns, user, expires)
            VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT (app, handle, pns) WHERE state = 1 DO NOTHING
            """,
            in: database
        )
        // Columns that keep their value are not named: each would cost its index a change.
        self.renew = try RawStatement(
            "UPDATE registration SET version = ?1, updated = ?2, expires = ?3 WHERE row = ?4",
            in: database
        )
        self.handOver = try RawStatement("UPDATE registration SET user = ?1 WHERE row = ?2", in: database)
        self.tagsOfRow = try RawStatement(Self.tagsOfRow, in: database)
        self.addTag = try RawStatement("INSERT INTO registration_tag(tag, pns, row) VALUES (?1, ?2, ?3)", in: database)
        self.dropTag = try RawStatement(
            "DELETE FROM registration_tag WHERE tag = ?1 AND pns = ?2 AND row = ?3",
            in: database
        )
        self.makeTag = try RawStatement(
            "INSERT INTO tag(app, name) VALUES (?1, ?2) ON CONFLICT (app, name) DO NOTHING",
            in: database
        )
        self.findTag = try RawStatement("SELECT number FROM tag WHERE app = ?1 AND name = ?2", in: database)
    }

    /// Binds what is the same for all rows.
    func bind(app: Int64, sequence: Int64, wall: Int64) throws {
        for statement in [self.byID, self.byHandle, self.insert, self.makeTag, self.findTag] {
            try statement.bind(app, at: 1)
        }
        try self.insert.bind(sequence, at: 2)
        try self.insert.bind(wall, at: 3)
        try self.renew.bind(sequence, at: 1)
        try self.renew.bind(wall, at: 2)
    }

    func find(_ id: RegistrationID) throws -> Known? {
        try self.byID.bind(id.text, at: 2)
        return try self.first(self.byID)
    }

    /// The live registration with the row's handle.
    func holder(of row: ImportedRegistration) throws -> Known? {
        try self.byHandle.bind(row.handle.text, at: 2)
        try self.byHandle.bind(Int64(row.pns.number), at: 3)
        return try self.first(self.byHandle)
    }

    private func first(_ statement: RawStatement) throws -> Known? {
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return Known(
            row: statement.integer(0),
            id: statement.text(1) ?? "",
            state: Int(statement.integer(2)),
            version: statement.integer(3),
            pns: Int(statement.integer(4)),
            handle: statement.text(5),
            user: statement.text(6)
        )
    }

    /// - Returns: The new row's number; nil where another registration has the handle.
    func insert(_ row: ImportedRegistration) throws -> Int64? {
        try self.insert.bind((row.id ?? .random()).text, at: 4)
        try self.insert.bind(row.handle.text, at: 5)
        try self.insert.bind(Int64(row.pns.number), at: 6)
        try self.insert.bind(row.user?.name, at: 7)
        try self.insert.bind(row.expires?.milliseconds, at: 8)
        try self.insert.run()
        return self.database.changesCount == 0 ? nil : self.database.lastInsertedRowID
    }

    func update(_ known: Known, to row: ImportedRegistration) throws {
        try self.renew.bind(row.expires?.milliseconds, at: 3)
        try self.renew.bind(known.row, at: 4)
        try self.renew.run()
        guard known.user != row.user?.name else { return }
        try self.handOver.bind(row.user?.name, at: 1)
        try self.handOver.bind(known.row, at: 2)
        try self.handOver.run()
    }

    func tags(of row: Int64) throws -> [Int64] {
        try self.tagsOfRow.bind(row, at: 1)
        var tags: [Int64] = []
        while try self.tagsOfRow.step() { tags.append(self.tagsOfRow.integer(0)) }
        return tags
    }

    func addTag(_ tag: Int64, _ pns: PNS, _ row: Int64) throws { try self.run(self.addTag, tag, pns, row) }

    func dropTag(_ tag: Int64, _ pns: PNS, _ row: Int64) throws { try self.run(self.dropTag, tag, pns, row) }

    private func run(_ statement: RawStatement, _ tag: Int64, _ pns: PNS, _ row: Int64) throws {
        try statement.bind(tag, at: 1)
        try statement.bind(Int64(pns.number), at: 2)
        try statement.bind(row, at: 3)
        try statement.run()
    }

    /// The tag's number, given now if need be.
    func number(of tag: Tag) throws -> Int64 {
        try self.makeTag.bind(tag.name, at: 2)
        try self.makeTag.run()
        if self.database.changesCount > 0 { return self.database.lastInsertedRowID }
        try self.findTag.bind(tag.name, at: 2)
        defer { self.findTag.reset() }
        guard try self.findTag.step() else { throw StoreError(.corrupt, "a tag that exists is not found") }
        return self.findTag.integer(0)
    }
}
