import GRDB
import PushModel
import Store

/// Writes imported registrations within a write transaction: as ``RegistrationChange`` does, but for a few microseconds each.
///
/// What needs more than a new row or the same handle again is left to it.
struct RegistrationImport {
    private let context: WriteContext
    private let app: Int64
    private let sequence: Int64
    private let statements: ImportStatements
    private var tagNumbers: [Tag: Int64] = [:]

    init(context: WriteContext, app: AppID, sequence: Int64) throws {
        self.context = context
        self.app = try context.database.ensureNumber(of: app)
        self.sequence = sequence
        self.statements = try ImportStatements(context.database)
        let wall = context.wall.milliseconds
        try self.statements.bind(app: self.app, sequence: sequence, wall: wall)
    }

    /// The order in which rows are best written: by handle, so that the pages of its index are taken one after the other and
    /// each is written by few transactions.
    ///
    /// Rows of the same handle stay in their order. Where an id comes twice a new stretch begins, for its last row counts.
    static func order(_ rows: [ImportedRegistration]) -> [Int] {
        var order: [Int] = []
        order.reserveCapacity(rows.count)
        var stretch: [Int] = []
        var ids: Set<RegistrationID> = []
        func end() {
            order += stretch.sorted { (rows[$0].handle.text, $0) < (rows[$1].handle.text, $1) }
            stretch = []
            ids = []
        }
        for index in rows.indices {
            if let id = rows[index].id, !ids.insert(id).inserted {
                end()
                ids.insert(id)
            }
            stretch.append(index)
        }
        end()
        return order
    }

    mutating func write(_ row: ImportedRegistration) throws -> ImportResult {
        if let id = row.id, let known = try self.statements.find(id) { return try self.update(known, to: row) }
        if let number = try self.statements.insert(row) {
            for tag in Self.tags(of: row) { try self.statements.addTag(self.number(of: tag), row.pns, number) }
            return .created
        }
        guard let holder = try self.statements.holder(of: row) else {
            throw StoreError(.corrupt, "a handle is taken by nobody")
        }
        guard let id = row.id else { return try self.update(holder, to: row) }
        if holder.version > self.sequence { return .superseded }
        // The id is new, and its handle is another's: it is handed out, and then takes the handle as any other would.
        try self.context.database.run(
            "INSERT INTO registration(app, id, state, version, updated) VALUES (?, ?, ?, ?, ?)",
            [
                self.app, id.text, Registration.State.issued.number, self.sequence, self.context.wall.milliseconds,
            ]
        )
        try self.change(id, to: row)
        return .created
    }

    private mutating func update(_ known: ImportStatements.Known, to row: ImportedRegistration) throws -> ImportResult {
        if known.state == Registration.State.deleted.number { return .gone }
        if known.version > self.sequence { return .superseded }
        guard known.isLive, known.pns == row.pns.number, known.handle == row.handle.text else {
            let holder = try self.statements.holder(of: row)
            try self.change(RegistrationID(stored: known.id), to: row)
            return (holder?.version ?? 0) > self.sequence ? .superseded : .updated
        }
        try self.statements.update(known, to: row)
        var wanted = try Set(Self.tags(of: row).map { try self.number(of: $0) })
        // Tags that stay are not touched: an import that is repeated writes next to nothing.
        for number in try self.statements.tags(of: known.row) where wanted.remove(number) == nil {
            try self.statements.dropTag(number, row.pns, known.row)
        }
        for number in wanted { try self.statements.addTag(number, row.pns, known.row) }
        return .updated
    }

    private func change(_ id: RegistrationID, to row: ImportedRegistration) throws {
        let change = RegistrationChange(
            context: self.context,
            app: self.app,
            user: row.user,
            sequence: self.sequence,
            expires: row.expires,
            ignoresOwner: true
        )
        let result = try change.upsert(id, .init(pns: row.pns, handle: row.handle, tags: row.tags))
        guard result == .done else { throw StoreError(.corrupt, "an imported registration was not taken") }
    }

    private static func tags(of row: ImportedRegistration) -> Set<Tag> {
        var tags = Set(row.tags)
        if let user = row.user { tags.insert(Tag(user: user)) }
        return tags
    }

    private mutating func number(of tag: Tag) throws -> Int64 {
        if let number = self.tagNumbers[tag] { return number }
        let number = try self.statements.number(of: tag)
        self.tagNumbers[tag] = number
        return number
    }
}
