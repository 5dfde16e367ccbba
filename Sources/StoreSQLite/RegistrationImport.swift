import GRDB
import PushModel
import Store

/// Writes imported registrations within a write transaction: as ``RegistrationChange`` does, but for a few microseconds each.
///
/// New rows are written many to a statement, for beginning one costs as much as a row. What is there already is looked at one by
/// one; what needs more than the same handle again is left to ``RegistrationChange``.
struct RegistrationImport {
    private let context: WriteContext
    private let app: Int64
    private let sequence: Int64
    private let statements: ImportStatements
    /// Tags of new rows that are still to be written.
    private var newTags: [ImportStatements.TagOfRow] = []
    /// Whether the rows before were new: then the next are taken for new.
    private var expectsNew = true
    /// Whether changes that came after this import have claimed handles that nobody has any more: hardly ever.
    private let mayBeLate: Bool
    private var random = SystemRandom()

    init(context: WriteContext, app: AppID, sequence: Int64) throws {
        self.context = context
        self.app = try context.database.ensureNumber(of: app)
        self.sequence = sequence
        self.statements = try ImportStatements(context.database)
        try self.statements.bind(app: self.app, sequence: sequence, wall: context.wall.milliseconds)
        self.mayBeLate = try context.isAnyClaimed(after: sequence)
    }

    /// The order in which rows are best written: by handle, so that the pages of its index are taken one after the other and
    /// each is written by few transactions.
    ///
    /// Rows of the same handle stay in their order. Where an id comes twice a new stretch begins, for its last row counts.
    static func order(_ rows: [ImportedRegistration]) -> [Int] {
        var order: [Int] = []
        order.reserveCapacity(rows.count)
        // With the beginning of each handle, which is nearly always enough to compare them.
        var stretch: [(beginning: UInt64, index: Int)] = []
        var ids: Set<RegistrationID> = []
        func end() {
            stretch.sort { one, other in
                if one.beginning != other.beginning { return one.beginning < other.beginning }
                return (rows[one.index].handle.text, one.index) < (rows[other.index].handle.text, other.index)
            }
            order += stretch.lazy.map(\.index)
            stretch.removeAll(keepingCapacity: true)
            ids = []
        }
        for index in rows.indices {
            if let id = rows[index].id, !ids.insert(id).inserted {
                end()
                ids.insert(id)
            }
            stretch.append((Self.beginning(of: rows[index].handle.text), index))
        }
        end()
        return order
    }

    /// The first eight bytes of a text, as a number in their order.
    private static func beginning(of text: String) -> UInt64 {
        var number: UInt64 = 0
        var count: UInt64 = 0
        for byte in text.utf8.prefix(8) {
            number = number << 8 | UInt64(byte)
            count += 1
        }
        return count == 0 ? 0 : number << (8 * (8 - count))
    }

    /// Writes some of the rows, in that order.
    ///
    /// - Returns: What came of each.
    mutating func write(_ order: ArraySlice<Int>, of rows: [ImportedRegistration]) throws -> [ImportResult] {
        let order = Array(order)
        let tags = try Self.numberedTags(of: rows, order, self.statements)
        var results: [ImportResult] = []
        results.reserveCapacity(order.count)
        for start in stride(from: 0, to: order.count, by: ImportStatements.rowsAtOnce) {
            let range = start..<min(start + ImportStatements.rowsAtOnce, order.count)
            if self.expectsNew, !self.mayBeLate, range.count == ImportStatements.rowsAtOnce {
                for place in range {
                    let index = order[place]
                    let id = self.id(of: rows[index])
                    try self.statements.prepare(rows[index], id: id, tags: tags[place], at: place - start)
                }
                if let first = try self.statements.insertPrepared() {
                    for (number, place) in zip(first..., range) {
                        let pns = Int64(rows[order[place]].pns.number)
                        for tag in tags[place].numbers { self.newTags.append((tag, pns, number)) }
                    }
                    results += repeatElement(.created, count: range.count)
                    continue
                }
            }
            // Any of these may be one of the new rows.
            try self.writeNewTags()
            var areNew = true
            for place in range {
                let result = try self.write(rows[order[place]], tags: tags[place])
                areNew = areNew && result == .created
                results.append(result)
            }
            self.expectsNew = areNew
        }
        try self.writeNewTags()
        return results
    }

    /// The row's own id, or a new one.
    private mutating func id(of row: ImportedRegistration) -> RegistrationID { row.id ?? .random(using: &self.random) }

    private mutating func writeNewTags() throws {
        try self.statements.addTags(self.newTags.sorted { ($0.tag, $0.pns, $0.row) < ($1.tag, $1.pns, $1.row) })
        self.newTags.removeAll(keepingCapacity: true)
    }

    private mutating func write(_ row: ImportedRegistration, tags: NumberedTags) throws -> ImportResult {
        if let id = row.id, let known = try self.statements.find(id) {
            return try self.update(known, to: row, tags: tags)
        }
        if try self.isLate(row) { return .superseded }
        if let number = try self.statements.insert(row, id: self.id(of: row), tags: tags) {
            try self.statements.addTags(tags.numbers.map { ($0, Int64(row.pns.number), number) })
            return .created
        }
        guard let holder = try self.statements.holder(of: row) else {
            throw StoreError(.corrupt, "a handle is taken by nobody")
        }
        guard let id = row.id else { return try self.update(holder, to: row, tags: tags) }
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

    private func update(
        _ known: ImportStatements.Known,
        to row: ImportedRegistration,
        tags: NumberedTags
    ) throws -> ImportResult {
        if known.state == Registration.State.deleted.number { return .gone }
        if known.version > self.sequence { return .superseded }
        guard known.isLive, known.pns == row.pns.number, known.handle == row.handle.text else {
            let holder = try self.statements.holder(of: row)
            let isLate = try (holder?.version ?? 0) > self.sequence || self.isLate(row)
            try self.change(RegistrationID(stored: known.id), to: row)
            return isLate ? .superseded : .updated
        }
        try self.statements.update(known, to: row, tags: tags)
        var wanted = Set(tags.numbers)
        // Tags that stay are not touched: an import that is repeated writes next to nothing.
        for number in known.tags.numbers where wanted.remove(number) == nil {
            try self.statements.dropTag(number, row.pns, known.row)
        }
        try self.statements.addTags(wanted.map { ($0, Int64(row.pns.number), known.row) })
        return .updated
    }

    /// Whether the row's handle went to a later registration, which has ended.
    private func isLate(_ row: ImportedRegistration) throws -> Bool {
        try self.mayBeLate
            && self.context.isClaimed(row.handle, row.pns, app: self.app, after: self.sequence)
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
}

/// The tags of a row but its user's own, as the store keeps them.
struct NumberedTags {
    let numbers: [Int64]
    /// See ``TagList/text``.
    let text: String?

    init(_ numbers: [Int64]) {
        self.numbers = numbers
        self.text = TagList(numbers).text
    }
}

extension RegistrationImport {
    /// The tags of rows, each looked up or made once.
    private static func numberedTags(
        of rows: [ImportedRegistration],
        _ order: [Int],
        _ statements: ImportStatements
    ) throws -> [NumberedTags] {
        var places: [Tag: Int] = [:]
        var names: [Tag] = []
        let placesOfRows = order.map { index in
            var found: [Int] = []
            for tag in rows[index].tags where tag.owner == nil {
                let place = places[tag] ?? names.count
                if place == names.count {
                    places[tag] = place
                    names.append(tag)
                }
                if !found.contains(place) { found.append(place) }
            }
            return found
        }
        // In the order of the index of names.
        let sorted = names.indices.sorted { names[$0] < names[$1] }
        var numbers = [Int64](repeating: 0, count: names.count)
        for (place, tag) in zip(sorted, try statements.numbers(of: sorted.map { names[$0] })) { numbers[place] = tag.1 }
        var tags: [NumberedTags] = []
        tags.reserveCapacity(order.count)
        for (index, places) in placesOfRows.enumerated() {
            // Rows next to each other often have the same.
            if index > 0, placesOfRows[index - 1] == places, let last = tags.last {
                tags.append(last)
            } else {
                tags.append(NumberedTags(places.map { numbers[$0] }))
            }
        }
        return tags
    }
}
