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

    /// Writes rows in their order.
    ///
    /// - Returns: What came of each.
    mutating func write(_ rows: [ImportedRegistration]) throws -> [ImportResult] {
        let tags = try Self.numberedTags(of: rows, self.statements)
        var results: [ImportResult] = []
        results.reserveCapacity(rows.count)
        for start in stride(from: 0, to: rows.count, by: ImportStatements.rowsAtOnce) {
            let range = start..<min(start + ImportStatements.rowsAtOnce, rows.count)
            if self.expectsNew, !self.mayBeLate, range.count == ImportStatements.rowsAtOnce,
                let first = try self.statements.insert(rows[range], tags: tags[range])
            {
                for (number, index) in zip(first..., range) { self.note(tags[index], of: rows[index], number: number) }
                results += repeatElement(.created, count: range.count)
                continue
            }
            // Any of these may be one of the new rows.
            try self.writeNewTags()
            let written = try range.map { try self.write(rows[$0], tags: tags[$0]) }
            self.expectsNew = written.allSatisfy { $0 == .created }
            results += written
        }
        try self.writeNewTags()
        return results
    }

    private mutating func note(_ tags: NumberedTags, of row: ImportedRegistration, number: Int64) {
        for tag in tags.numbers { self.newTags.append((tag, Int64(row.pns.number), number)) }
    }

    private mutating func writeNewTags() throws {
        try self.statements.addTags(self.newTags.sorted { ($0.tag, $0.pns, $0.row) < ($1.tag, $1.pns, $1.row) })
        self.newTags.removeAll(keepingCapacity: true)
    }

    private func write(_ row: ImportedRegistration, tags: NumberedTags) throws -> ImportResult {
        if let id = row.id, let known = try self.statements.find(id) {
            return try self.update(known, to: row, tags: tags)
        }
        if try self.isLate(row) { return .superseded }
        if let number = try self.statements.insert(row, tags: tags) {
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
        _ statements: ImportStatements
    ) throws -> [NumberedTags] {
        var places: [Tag: Int] = [:]
        var names: [Tag] = []
        let placesOfRows = rows.map { row in
            var found: [Int] = []
            for tag in row.tags where tag.owner == nil {
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
        let order = names.indices.sorted { names[$0] < names[$1] }
        var numbers = [Int64](repeating: 0, count: names.count)
        for (place, tag) in zip(order, try statements.numbers(of: order.map { names[$0] })) { numbers[place] = tag.1 }
        var tags: [NumberedTags] = []
        tags.reserveCapacity(rows.count)
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
