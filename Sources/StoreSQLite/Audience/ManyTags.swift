import PushModel
import Store
import StoreKit

/// The audience of an `||` of many tags, such as thousands of users: found tag by tag in index order, because an
/// ``AudienceReader`` would read all tags for each of its windows.
///
/// 20,000 users cost some 30 ms, so the rows found are kept for the next pages, for ``lifetime``. Each row is checked
/// again when its page is read, and left out if it is no longer live or has lost the tags.
struct ManyTags {
    /// The least tags for this reader.
    ///
    /// Fewer tags, with more rows each, are read faster by an ``AudienceReader``.
    static let threshold = 64
    /// How long it may go unseen that a registration has joined the audience.
    static let lifetime = Duration.seconds(5)
    /// The rows to find ahead of the page; a count finds more.
    static let ahead = 16_384
    static let counted = 65_536
    /// The tags, or rows, read in one transaction of some 20 ms.
    static let tagsARead = 8192
    static let rowsARead = 4096

    private let expression: TagExpression
    private let query: AudienceQuery
    private let store: SQLiteStore

    /// - Returns: nil where the audience is of another kind.
    init?(_ expression: TagExpression, _ query: AudienceQuery, store: SQLiteStore) {
        guard expression.tags.count >= Self.threshold, expression.alternatives != nil else { return nil }
        self.expression = expression
        self.query = query
        self.store = store
    }

    func page() async throws -> AudiencePage {
        var snapshot = try await self.snapshot()
        let (slot, after, through, limit) = (self.query.slot, self.query.after, self.query.through, self.query.limit)
        let stretch: Stretch
        if let known = snapshot.stretches[slot], known.after <= after, after < known.through {
            stretch = known
        } else {
            stretch = try await self.find(snapshot.tags, most: max(limit, Self.ahead))
            snapshot.stretches[slot] = stretch
            self.query.memory?.keep(snapshot)
        }
        let rows = stretch.rows(after: after, through: through).prefix(limit)
        var page = try await self.live(Array(rows), having: snapshot.members)
        page.scannedThrough = rows.count == limit ? rows.last ?? through : min(stretch.through, through)
        return page
    }

    func count() async throws -> AudienceCount {
        let found = try await self.find(try await self.snapshot().tags, most: Self.counted)
        return AudienceCount(count: found.rows.count, scannedThrough: found.through)
    }

    /// Those of some rows, ascending, that are in the audience.
    func live(_ rows: [Int64]) async throws -> AudiencePage {
        var page = try await self.live(rows, having: try await self.snapshot().members)
        page.scannedThrough = self.query.through
        return page
    }

    // MARK: Steps

    /// The rows found a moment ago.
    private struct Snapshot: Sendable {
        let since: ContinuousClock.Instant
        /// The users, and the other tags that registrations have had, in the order of the indexes.
        let tags: [StoredTag]
        let members: Set<StoredTag>
        var stretches: [Int: Stretch] = [:]
    }

    /// The audience's rows in `(after, through]` of one service and kind, ascending.
    private struct Stretch: Sendable {
        let after: Int64
        let through: Int64
        let rows: [Int64]

        func rows(after: Int64, through: Int64) -> ArraySlice<Int64> {
            let first = self.firstIndex { $0 > after }
            return self.rows[first..<max(first, self.firstIndex { $0 > through })]
        }

        /// The first row that is beyond some other, by halving.
        private func firstIndex(_ isBeyond: (Int64) -> Bool) -> Int {
            var (low, high) = (0, self.rows.count)
            while low < high {
                let middle = (low + high) / 2
                if isBeyond(self.rows[middle]) { high = middle } else { low = middle + 1 }
            }
            return low
        }
    }

    private func snapshot() async throws -> Snapshot {
        if let known = self.query.memory?.recall(Snapshot.self), known.since.duration(to: .now) < Self.lifetime {
            return known
        }
        let since = ContinuousClock.now
        // In the order of the index of names; users are in none.
        let named = self.expression.tags.filter { $0.owner == nil }.sorted()
        var rest = (named + self.expression.tags.filter { $0.owner != nil })[...]
        var tags: [StoredTag] = []
        while !rest.isEmpty {
            let piece = rest.prefix(Self.tagsARead)
            rest = rest.dropFirst(piece.count)
            tags += try await self.store.read(size: .long) {
                try $0.stored(piece, app: self.query.app).compactMap { $0 }
            }
        }
        tags.sort(by: StoredTag.precedes)
        let snapshot = Snapshot(since: since, tags: tags, members: Set(tags))
        self.query.memory?.keep(snapshot)
        return snapshot
    }

    /// The first rows of the audience after one, `most` at most.
    private func find(_ tags: [StoredTag], most: Int) async throws -> Stretch {
        let query = self.query
        var search = RowSearch(tags: tags, slot: query.slot, after: query.after, through: query.through, most: most)
        let limits = self.store.configuration.audienceReadLimits
        // In several transactions: a registration that changes tags between them may be missed, as between two sends.
        while !search.isDone {
            let step = search
            search = try await self.store.read(size: .long) { database in
                var search = step
                try search.go(on: database, maximumCost: limits.maximumCost)
                return search
            }
        }
        return Stretch(after: query.after, through: search.end, rows: search.rows)
    }

    /// The live rows with one of the tags among some, with their handles.
    private func live(_ rows: [Int64], having tags: Set<StoredTag>) async throws -> AudiencePage {
        let slot = self.query.slot
        var page = AudiencePage(scannedThrough: 0)
        page.rows.reserveCapacity(rows.count)
        page.handles.reserveCapacity(rows.count, bytes: rows.count * 64)
        var rest = rows[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.rowsARead)
            rest = rest.dropFirst(piece.count)
            let before = page
            page = try await self.store.read(size: .long) { database in
                var page = before
                try database.append(piece, at: slot, having: tags, to: &page)
                return page
            }
        }
        return page
    }
}

/// Seeks tags' rows, in steps of bounded cost, and keeps the first.
struct RowSearch: Sendable {
    static let query = TagQuery(rows: "pns = ?3 AND row > ?4 AND row <= ?5 ORDER BY row LIMIT ?6")
    /// The cost of a seek to a tag, in rows stepped over.
    private static let seekCost = 16

    private let tags: [StoredTag]
    private let slot: Int
    private let after: Int64
    private let most: Int
    /// How many of the tags were sought.
    private var done = 0
    /// Rows beyond this do not count any more.
    private(set) var end: Int64
    private(set) var rows: [Int64] = []

    init(tags: [StoredTag], slot: Int, after: Int64, through: Int64, most: Int) {
        self.tags = tags
        self.slot = slot
        self.after = after
        self.end = through
        self.most = most
    }

    var isDone: Bool { self.done == self.tags.count }

    mutating func go(on database: Database, maximumCost: Int) throws {
        let query = try PreparedTagQuery(Self.query, in: database)
        defer { query.reset() }
        let slot = Int64(self.slot)
        var cost = 0
        while !self.isDone, cost < maximumCost {
            let before = self.rows.count
            let statement = try query.start(self.tags[self.done], slot, self.after, self.end, Int64(self.most))
            let row = statement.column("row")
            while try statement.step() { self.rows.append(statement.integer(row)) }
            cost += Self.seekCost + self.rows.count - before
            self.done += 1
            if self.rows.count >= 2 * self.most || self.isDone { self.cut() }
        }
    }

    /// Leaves the first rows, each once.
    private mutating func cut() {
        self.rows.sort()
        var count = 0
        for index in self.rows.indices where count == 0 || self.rows[index] != self.rows[count - 1] {
            self.rows[count] = self.rows[index]
            count += 1
        }
        self.rows.removeSubrange(min(count, self.most)...)
        if self.rows.count == self.most, let last = self.rows.last { self.end = last }
    }
}

extension Database {
    static let liveWithTags = """
        SELECT row, app, user, tags, handle, credential FROM registration WHERE row = ?1 AND pns = ?2 AND \(KeptRegistration.live)
        """

    /// Appends those of some rows that are live there and have one of the tags.
    fileprivate func append(
        _ rows: some Sequence<Int64>,
        at slot: Int,
        having tags: Set<StoredTag>,
        to page: inout AudiencePage
    ) throws {
        let statement = try PreparedStatement(Self.liveWithTags, in: self)
        defer { statement.reset() }
        let (app, user, list) = (statement.column("app"), statement.column("user"), statement.column("tags"))
        var devices = DeviceColumns(statement, in: self)
        for row in rows {
            try statement.restart(row, Int64(slot))
            guard try statement.step() else { continue }
            let own = statement.text(user).map { StoredTag.user(ExactText($0), app: statement.integer(app)) }
            let others = try TagList(stored: statement.text(list)).numbers.lazy.map { StoredTag.number($0) }
            guard own.map(tags.contains) ?? false || others.contains(where: tags.contains) else { continue }
            try devices.append(to: &page)
        }
    }
}
