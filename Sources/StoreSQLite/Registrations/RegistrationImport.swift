import PushModel
import Store
import StoreKit
import StoreSQL

/// Writes imported registrations within a write transaction, with the rules of ``StoreKit/RegistrationChange`` at a few
/// microseconds each.
///
/// New rows, without a known id or handle, are written many to a statement, because starting one costs as much as a
/// row, and in the order of each table and index, so that each page is visited once. The others are looked up one by
/// one; changes beyond a repeated handle, and templates, are left to ``StoreSQL/RegistrationTable``.
struct RegistrationImport {
    typealias Numbered = ImportProgress.Numbered

    private let context: WriteContext
    private let app: Int64
    private let name: AppID
    private let registrations: RegistrationTable
    private let sequence: Int64
    private let rows: [ImportedRegistration]
    private let statements: ImportStatements
    /// Whether later changes have released handles, deleted unknown ids or removed users since this import began: very rare.
    private let mayBeLate: Bool
    private var random = SystemRandom()
    /// By index, whether a row's id and handle are new.
    private var isNew: [Bool]
    /// By index, which row of the table a new one is; 0 if it is not written.
    private var numbers: [Int64]
    /// The tags that known rows got or lost in the piece that is written.
    private var changedTags = 0

    /// The tags of new rows that are kept, to be written behind these in the order of their table; a row's come on top.
    private static let mostNewTags = 65_536

    init(_ rows: [ImportedRegistration], context: WriteContext, app: AppID, sequence: Int64) throws {
        self.rows = rows
        self.isNew = Array(repeating: false, count: rows.count)
        self.numbers = Array(repeating: 0, count: rows.count)
        self.context = context
        (self.app, self.name) = (try context.database.ensureNumber(of: app), app)
        self.sequence = sequence
        self.statements = try ImportStatements(context, app: self.app, sequence: sequence)
        self.registrations = context.registrations(of: self.app)
        self.mayBeLate = try !context.database.answer(RegistrationTable.laterChanges(than: sequence)).rows.isEmpty
    }

    /// The whole work, before the first transaction.
    func start() -> ImportProgress {
        ImportProgress(self.rows) {
            self.context.digest.number(of: $0.handle, $0.pns, RegistrationSlot($0).kind, app: self.app)
        }
    }

    /// Writes rows until the chunk is over or its limit of looked up rows is reached.
    ///
    /// - Parameters:
    ///   - progress: The progress, updated.
    ///   - chunk: The duration.
    /// - Throws: ``StoreError``, or SQLite's error.
    mutating func write(_ progress: inout ImportProgress, _ chunk: inout ImportChunk) throws {
        var seen = 0
        while var stretch = progress.stretches.first, seen < progress.most, !chunk.isOver {
            if !stretch.unseen.isEmpty {
                seen += try self.writeNew(of: &stretch, atMost: progress.most - seen, &progress.results, &chunk)
                if stretch.unseen.isEmpty { stretch.known.sort { $0.index < $1.index } }
            }
            if stretch.unseen.isEmpty { try self.writeKnown(of: &stretch, &progress.results, &chunk) }
            if stretch.isDone {
                progress.stretches.removeFirst()
            } else {
                progress.stretches[progress.stretches.startIndex] = stretch
            }
        }
        progress.most = chunk.isOver ? max(seen, ImportChunk.step) : min(2 * progress.most, self.rows.count)
    }

    /// Looks at rows, and writes those that are new.
    ///
    /// - Returns: How many are looked at no more.
    private mutating func writeNew(
        of stretch: inout ImportProgress.Stretch,
        atMost limit: Int,
        _ results: inout [ImportResult],
        _ chunk: inout ImportChunk
    ) throws -> Int {
        let before = stretch.unseen.count
        var count = 0
        if self.mayBeLate {
            count = min(before, limit)
        } else {
            var last: Int64?
            for row in stretch.unseen.prefix(limit) {
                if row.digest != last { self.isNew[row.index] = try self.isNew(row) }
                last = row.digest
                count += 1
                guard chunk.goesOn(after: 1) else { break }
            }
        }
        let seen = stretch.unseen.prefix(count)
        let new = seen.map(\.index).filter { self.isNew[$0] }.sorted()
        try self.insert(new, seen, &chunk)
        for index in new where self.numbers[index] != 0 { results[index] = .created }
        stretch.known += seen.filter { !self.isNew[$0.index] }
        let left = seen.filter { self.isNew[$0.index] && self.numbers[$0.index] == 0 }
        stretch.unseen.removeFirst(count)
        if !left.isEmpty { stretch.unseen = left + stretch.unseen }
        return before - stretch.unseen.count
    }

    /// Writes rows that are not new, one by one.
    private mutating func writeKnown(
        of stretch: inout ImportProgress.Stretch,
        _ results: inout [ImportResult],
        _ chunk: inout ImportChunk
    ) throws {
        while !stretch.known.isEmpty, !chunk.isOver {
            let indexes = stretch.known.prefix(ImportChunk.least).map(\.index)[...]
            let (some, work) = ImportChunk.piece(of: indexes, in: self.rows, each: ImportChunk.known)
            let tags = try Self.numberedTags(of: self.rows, some, self.statements)
            self.changedTags = 0
            var written = 0
            for (row, tags) in zip(stretch.known, tags) where self.changedTags < ImportChunk.least * ImportChunk.tags {
                results[row.index] = try self.write(row, tags: tags)
                written += 1
            }
            stretch.known.removeFirst(written)
            _ = chunk.goesOn(after: work + self.changedTags / ImportChunk.tags)
        }
    }

    /// Whether no registration has the row's id, and none a handle of the same number; no template is taken for new.
    private func isNew(_ row: Numbered) throws -> Bool {
        guard self.rows[row.index].template == nil, try !self.statements.hasHandle(row.digest) else { return false }
        return try self.rows[row.index].id.map { try self.statements.find($0) == nil } ?? true
    }

    /// Inserts new rows: in the order of their users, for the index of those, and then their handles and tags, each in the order of
    /// their table.
    private mutating func insert(_ new: [Int], _ numbered: ArraySlice<Numbered>, _ chunk: inout ImportChunk) throws {
        guard !new.isEmpty else { return }
        // An export has this order already, which makes the sort cheap.
        var rest = new.map { (user: self.rows[$0].user?.key ?? "", index: $0) }.sorted { $0.user < $1.user }
            .map(\.index)[...]
        var newTags: [ImportStatements.TagOfRow] = []
        while !rest.isEmpty {
            let (some, work) = ImportChunk.piece(of: rest, in: self.rows, each: 1)
            rest.removeFirst(some.count)
            let tags = try Self.numberedTags(of: self.rows, some, self.statements)
            try self.insert(some, tags)
            for (index, tags) in zip(some, tags) {
                let pns = Int64(self.rows[index].pns.number)
                for tag in tags.numbers { newTags.append((tag, pns, self.numbers[index])) }
            }
            guard chunk.goesOn(after: work), newTags.count < Self.mostNewTags else { break }
        }
        try self.statements.insert(
            numbered.compactMap {
                let row = self.numbers[$0.index]
                return row == 0 ? nil : HandleIndex.Entry(digest: $0.digest, row: row)
            }
        )
        try self.statements.addTags(newTags.sorted { ($0.tag, $0.pns, $0.row) < ($1.tag, $1.pns, $1.row) })
    }

    /// Inserts new registrations without their handles and tags.
    private mutating func insert(_ new: ArraySlice<Int>, _ tags: [NumberedTags]) throws {
        var rows: [ImportStatements.NewRow] = []
        rows.reserveCapacity(new.count)
        for (index, tags) in zip(new, tags) { rows.append((self.rows[index], self.id(of: self.rows[index]), tags)) }
        for (number, index) in zip(try self.statements.insert(rows)..., new) { self.numbers[index] = number }
    }

    /// The row's own id, or a new one.
    private mutating func id(of row: ImportedRegistration) -> RegistrationID { row.id ?? .random(using: &self.random) }

    private mutating func write(_ numbered: Numbered, tags: NumberedTags) throws -> ImportResult {
        let row = self.rows[numbered.index]
        if self.mayBeLate, try self.exists(self.registrations.removal(of: row.user, after: self.sequence)) {
            return .superseded
        }
        guard row.template == nil else { return try self.writeTemplate(numbered) }
        if let id = row.id, let known = try self.statements.find(id) {
            return try self.update(known, to: row, numbered.digest, tags: tags)
        }
        if try self.isLate(row) { return .superseded }
        guard let current = try self.statements.current(for: row, numbered.digest) else {
            let number = try self.statements.insert([(row, self.id(of: row), tags)])
            _ = try self.context.database.answer(HandleTable.add(numbered.digest, to: "\(number)"))
            try self.statements.addTags(tags.numbers.map { ($0, Int64(row.pns.number), number) })
            return .created
        }
        guard let id = row.id else { return try self.update(current, to: row, numbered.digest, tags: tags) }
        if current.version > self.sequence { return .superseded }
        // The id is new, and its handle is another's: it takes the handle as any other would.
        return try self.change(id, to: row, .created)
    }

    /// Writes a registration for a template as any single change of one is written.
    private mutating func writeTemplate(_ numbered: Numbered) throws -> ImportResult {
        let row = self.rows[numbered.index]
        let known = try row.id.flatMap { try self.statements.find($0) }
        if known?.state == Registration.State.deleted.number { return .gone }
        let current = try self.statements.current(for: row, numbered.digest)
        guard max(known?.version ?? 0, current?.version ?? 0) <= self.sequence, try !self.isLate(row) else {
            return .superseded
        }
        let id = try row.id ?? current.map { try RegistrationID(stored: $0.id) } ?? .random(using: &self.random)
        return try self.change(id, to: row, known == nil && current?.id != id.text ? .created : .updated)
    }

    private mutating func update(
        _ known: ImportStatements.Known,
        to row: ImportedRegistration,
        _ digest: Int64,
        tags: NumberedTags
    ) throws -> ImportResult {
        if known.state == Registration.State.deleted.number { return .gone }
        if known.version > self.sequence { return .superseded }
        // Templates of a former user go with the device.
        guard known.isLive, known.pns == row.pns.number, known.handle == row.handle.text,
            known.user == nil || known.user == row.user?.key
        else {
            let current = try self.statements.current(for: row, digest)
            let isLate = try (current?.version ?? 0) > self.sequence || self.isLate(row)
            return try self.change(RegistrationID(stored: known.id), to: row, isLate ? .superseded : .updated)
        }
        try self.statements.update(known, to: row, tags: tags)
        var wanted = Set(tags.numbers)
        // Tags that stay are not touched: an import that is repeated writes next to nothing.
        for number in known.tags.numbers where wanted.remove(number) == nil {
            try self.statements.dropTag(number, row.pns, known.row)
            self.changedTags += 1
        }
        self.changedTags += wanted.count
        try self.statements.addTags(wanted.map { ($0, Int64(row.pns.number), known.row) })
        return .updated
    }

    /// Whether the row's handle went to a later registration, which has ended, or its id was deleted later.
    private func isLate(_ row: ImportedRegistration) throws -> Bool {
        guard self.mayBeLate else { return false }
        let claim = self.registrations.claim(of: row.handle, RegistrationSlot(row), after: self.sequence)
        if try self.exists(claim) { return true }
        guard let id = row.id else { return false }
        return try self.exists(
            self.registrations.deletions(of: "\(id.text)", by: row.user, after: self.sequence)
        )
    }

    /// Writes a row as any single change of a registration is written; `result` says what to report when it was.
    private mutating func change(
        _ id: RegistrationID,
        to row: ImportedRegistration,
        _ result: ImportResult
    ) throws -> ImportResult {
        self.changedTags += row.tags.count
        let request = row.request(id)
        let job = RegisterJob(app: self.name, user: row.user, sequence: self.sequence)
        let terms = RegistrationTerms(request, of: job, .bulk, at: self.context.wall)
        return ImportResult(try self.context.register(self.registrations.change(request, terms)), done: result)
    }

    private func exists(_ statement: SQLStatement) throws -> Bool {
        try !self.context.database.answer(statement).rows.isEmpty
    }
}
