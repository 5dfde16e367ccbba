import PushModel
import Store
import StoreKit

/// The statements of an import, each prepared once.
struct ImportStatements {
    /// A tag of a registration, as numbers.
    typealias TagOfRow = (tag: Int64, pns: Int64, row: Int64)

    /// New registrations in one statement.
    static let rowsAtOnce = 64
    /// Values that are a new registration's own.
    private static let values = 9
    /// Entries of handles, and tags of registrations, in one statement.
    private static let entriesAtOnce = 64
    /// New tags in one statement.
    private static let namesAtOnce = 20

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

    private static let known = "r.row, r.id, r.state, r.version, r.pns, r.handle, r.user, r.tags"
    private static let byID = "SELECT \(known) FROM registration AS r WHERE r.app = ?1 AND r.id = ?2"
    static let hasHandle = "SELECT 1 FROM handle_index WHERE digest = ?1 LIMIT 1"

    private let database: Database
    private let app: Int64
    private let byID: PreparedStatement
    private let byHandle: PreparedStatement
    private let hasHandle: PreparedStatement
    private let insertEntry: PreparedStatement
    private let insertManyEntries: PreparedStatement
    private let insert: PreparedStatement
    private let insertMany: PreparedStatement
    private let renew: PreparedStatement
    private let handOver: PreparedStatement
    private let addTag: PreparedStatement
    private let addTags: PreparedStatement
    private let dropTag: PreparedStatement
    private let makeTag: PreparedStatement
    private let makeTags: PreparedStatement
    private let findTag: PreparedStatement

    init(_ database: Database, app: Int64) throws {
        self.database = database
        self.app = app
        self.byID = try PreparedStatement(Self.byID, in: database)
        self.byHandle = try PreparedStatement(HandleIndex.find(Self.known), in: database)
        self.hasHandle = try PreparedStatement(Self.hasHandle, in: database)
        let insertEntry = "INSERT INTO handle_index(digest, position, row) VALUES (?, 0, ?)"
        self.insertEntry = try PreparedStatement(insertEntry, in: database)
        self.insertManyEntries = try PreparedStatement(
            insertEntry + String(repeating: ", (?, 0, ?)", count: Self.entriesAtOnce - 1),
            in: database
        )
        let insert = """
            INSERT INTO registration(app, version, updated, state, id, handle, pns, user, user_shown, expires, tags, credential,
                written)
            VALUES\u{20}
            """
        let values = { (row: Int) in
            let own = (0..<Self.values).map { "?\(Self.values * row + $0 + 4)" }
            return "(?1, ?2, ?3, 1, \(own.joined(separator: ", ")))"
        }
        self.insert = try PreparedStatement(insert + values(0), in: database)
        self.insertMany = try PreparedStatement(
            insert + (0..<Self.rowsAtOnce).map(values).joined(separator: ", "),
            in: database
        )
        // Columns that keep their value are not named: each would cost its index a change.
        self.renew = try PreparedStatement(
            """
            UPDATE registration SET version = ?1, updated = ?2, expires = ?3, tags = ?4, credential = ?6,
                written = coalesce(?7, written) WHERE row = ?5
            """,
            in: database
        )
        self.handOver = try PreparedStatement(
            "UPDATE registration SET user = ?1, user_shown = ?2 WHERE row = ?3",
            in: database
        )
        let addTag = "INSERT INTO tagged(tag, pns, row) VALUES (?, ?, ?)"
        self.addTag = try PreparedStatement(addTag, in: database)
        self.addTags = try PreparedStatement(
            addTag + String(repeating: ", (?, ?, ?)", count: Self.entriesAtOnce - 1),
            in: database
        )
        self.dropTag = try PreparedStatement(
            "DELETE FROM tagged WHERE tag = ?1 AND pns = ?2 AND row = ?3",
            in: database
        )
        self.makeTag = try PreparedStatement(
            "INSERT INTO tag_name(app, name, name_shown) VALUES (?1, ?2, ?3) ON CONFLICT (app, name) DO NOTHING",
            in: database
        )
        self.makeTags = try PreparedStatement(
            "INSERT INTO tag_name(app, name, name_shown) VALUES "
                + (0..<Self.namesAtOnce).map { "(?1, ?\(2 * $0 + 2), ?\(2 * $0 + 3))" }.joined(separator: ", "),
            in: database
        )
        self.findTag = try PreparedStatement(TagFinder.sql, in: database)
    }

    /// Binds the values common to all rows.
    func bind(sequence: Int64, wall: Int64) throws {
        for statement in [
            self.byID, self.insert, self.insertMany, self.makeTag, self.makeTags, self.findTag,
        ] {
            try statement.bind(self.app, at: 1)
        }
        try self.byHandle.bind(self.app, at: 5)
        for statement in [self.insert, self.insertMany] {
            try statement.bind(sequence, at: 2)
            try statement.bind(wall, at: 3)
        }
        try self.renew.bind(sequence, at: 1)
        try self.renew.bind(wall, at: 2)
    }

    func find(_ id: RegistrationID) throws -> Known? {
        try self.byID.bind(id.text, at: 2)
        return try self.first(self.byID)
    }

    /// The live registration with a handle of the row's device, whose digest is given.
    func current(for row: ImportedRegistration, _ digest: Int64) throws -> Known? {
        try self.byHandle.bind(digest, at: 1)
        let handles = row.handle.sameDevice(at: row.pns)
        try self.byHandle.bind(handles.lowerBound, at: 2)
        try self.byHandle.bind(handles.upperBound, at: 3)
        let slot = RegistrationSlot(row)
        try self.byHandle.bind(Int64(slot.number), at: 4)
        try self.byHandle.bind(slot.template, at: 6)
        return try self.first(self.byHandle)
    }

    /// Whether a live registration has a handle of that number: this one or another.
    func hasHandle(_ digest: Int64) throws -> Bool {
        try self.hasHandle.bind(digest, at: 1)
        defer { self.hasHandle.reset() }
        return try self.hasHandle.step()
    }

    /// Adds entries of handles with unused digests.
    func insert(_ entries: [HandleIndex.Entry]) throws {
        var start = 0
        while entries.count - start >= Self.entriesAtOnce {
            for index in 0..<Self.entriesAtOnce {
                try self.bind(entries[start + index], to: self.insertManyEntries, at: Int32(2 * index + 1))
            }
            try self.insertManyEntries.run()
            start += Self.entriesAtOnce
        }
        for entry in entries[start...] {
            try self.bind(entry, to: self.insertEntry, at: 1)
            try self.insertEntry.run()
        }
    }

    private func bind(_ entry: HandleIndex.Entry, to statement: PreparedStatement, at index: Int32) throws {
        try statement.bind(entry.digest, at: index)
        try statement.bind(entry.row, at: index + 1)
    }

    private func first(_ statement: PreparedStatement) throws -> Known? {
        guard try statement.step() else { return nil }
        defer { statement.reset() }
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

    /// - Returns: The new row's number.
    func insert(_ row: ImportedRegistration, id: RegistrationID, tags: NumberedTags) throws -> Int64 {
        try self.bind(row, id, tags, to: self.insert, at: 4)
        try self.insert.run()
        return self.database.lastInsertedRowID
    }

    /// Makes a row one of those that ``insertPrepared()`` inserts.
    func prepare(_ row: ImportedRegistration, id: RegistrationID, tags: NumberedTags, at place: Int) throws {
        try self.bind(row, id, tags, to: self.insertMany, at: Int32(Self.values * place + 4))
    }

    /// Inserts ``rowsAtOnce`` rows.
    ///
    /// - Returns: The number of the first, the others follow.
    func insertPrepared() throws -> Int64 {
        try self.insertMany.run()
        return self.database.lastInsertedRowID - Int64(Self.rowsAtOnce) + 1
    }

    private func bind(
        _ row: ImportedRegistration,
        _ id: RegistrationID,
        _ tags: NumberedTags,
        to statement: PreparedStatement,
        at index: Int32
    ) throws {
        try statement.bind(id.text, at: index)
        try statement.bind(row.handle.text, at: index + 1)
        try statement.bind(Int64(row.pns.number), at: index + 2)
        try statement.bind(row.user?.key.text, at: index + 3)
        try statement.bind(row.user?.shown, at: index + 4)
        try statement.bind(row.expires?.milliseconds, at: index + 5)
        try statement.bind(tags.text, at: index + 6)
        try statement.bind(try self.credential(of: row), at: index + 7)
        try statement.bind(try row.written.map(StoredJSON.text), at: index + 8)
    }

    func update(_ known: Known, to row: ImportedRegistration, tags: NumberedTags) throws {
        try self.renew.bind(row.expires?.milliseconds, at: 3)
        try self.renew.bind(tags.text, at: 4)
        try self.renew.bind(known.row, at: 5)
        try self.renew.bind(try self.credential(of: row), at: 6)
        try self.renew.bind(try row.written.map(StoredJSON.text), at: 7)
        try self.renew.run()
        guard known.user != row.user?.key else { return }
        try self.handOver.bind(row.user?.key.text, at: 1)
        try self.handOver.bind(row.user?.shown, at: 2)
        try self.handOver.bind(known.row, at: 3)
        try self.handOver.run()
    }

    /// The number of a row's credential; nil for the default one.
    private func credential(of row: ImportedRegistration) throws -> Int64? {
        guard row.credential != .default else { return nil }
        return try self.database.ensureNumber(of: row.credential, row.pns, app: self.app)
    }

    func dropTag(_ tag: Int64, _ pns: PushService, _ row: Int64) throws {
        try self.bind((tag, Int64(pns.number), row), to: self.dropTag, at: 1)
        try self.dropTag.run()
    }

    /// Adds tags to registrations that do not have them.
    func addTags(_ tags: [TagOfRow]) throws {
        var start = 0
        while tags.count - start >= Self.entriesAtOnce {
            for index in 0..<Self.entriesAtOnce {
                try self.bind(tags[start + index], to: self.addTags, at: Int32(3 * index + 1))
            }
            try self.addTags.run()
            start += Self.entriesAtOnce
        }
        for tag in tags[start...] {
            try self.bind(tag, to: self.addTag, at: 1)
            try self.addTag.run()
        }
    }

    private func bind(_ tag: TagOfRow, to statement: PreparedStatement, at index: Int32) throws {
        try statement.bind(tag.tag, at: index)
        try statement.bind(tag.pns, at: index + 1)
        try statement.bind(tag.row, at: index + 2)
    }

    /// The tags' numbers, given now if need be.
    func numbers(of tags: [Tag]) throws -> [(Tag, Int64)] {
        var numbers: [(Tag, Int64)] = []
        numbers.reserveCapacity(tags.count)
        var expectsNew = true
        for start in stride(from: 0, to: tags.count, by: Self.namesAtOnce) {
            let some = tags[start..<min(start + Self.namesAtOnce, tags.count)]
            if expectsNew, some.count == Self.namesAtOnce, let first = try self.make(some) {
                numbers += zip(some, first...)
                continue
            }
            expectsNew = true
            for tag in some {
                let (number, isNew) = try self.number(of: tag)
                numbers.append((tag, number))
                expectsNew = expectsNew && isNew
            }
        }
        return numbers
    }

    /// - Returns: The first of their numbers, the others follow; nil where one of them is there already.
    private func make(_ tags: ArraySlice<Tag>) throws -> Int64? {
        for (index, tag) in tags.enumerated() {
            try self.makeTags.bind(tag.key, at: Int32(2 * index + 2))
            try self.makeTags.bind(tag.shown, at: Int32(2 * index + 3))
        }
        guard try self.makeTags.runUnlessConflicting() else { return nil }
        return self.database.lastInsertedRowID - Int64(tags.count) + 1
    }

    private func number(of tag: Tag) throws -> (number: Int64, isNew: Bool) {
        try self.makeTag.bind(tag.key, at: 2)
        try self.makeTag.bind(tag.shown, at: 3)
        try self.makeTag.run()
        if self.database.changesCount > 0 { return (self.database.lastInsertedRowID, true) }
        try self.findTag.bind(tag.key, at: 2)
        defer { self.findTag.reset() }
        guard try self.findTag.step() else { throw StoreError(.corrupt, "a tag that exists is not found") }
        return (self.findTag.integer(0), false)
    }
}
