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
    /// The rows read in one transaction of some 20 ms.
    private static let rowsARead = 4096

    private let expression: TagExpression
    private let query: AudienceQuery
    private let store: any AudienceEngine

    /// - Returns: nil if the audience is of another kind.
    init?(_ expression: TagExpression, _ query: AudienceQuery, store: any AudienceEngine) {
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
        let found = try await self.store.stored(self.expression.tags, app: self.query.app)
        let tags = (found?.tags ?? []).compactMap { $0 }.sorted(by: StoredTag.precedes)
        let snapshot = Snapshot(since: since, tags: tags, members: Set(tags))
        self.query.memory?.keep(snapshot)
        return snapshot
    }

    /// The first rows of the audience after one, `most` at most.
    private func find(_ tags: [StoredTag], most: Int) async throws -> Stretch {
        let query = self.query
        var search = RowSearch(tags: tags, slot: query.slot, after: query.after, through: query.through, most: most)
        // In several transactions: a registration that changes tags between them may be missed, as between two sends.
        while !search.isDone {
            let (rows, tags) = try await self.store.rows(for: search)
            search.add(rows, of: tags)
        }
        return Stretch(after: query.after, through: search.end, rows: search.rows)
    }

    /// The live rows with one of the tags among some, with their handles.
    private func live(_ rows: [Int64], having tags: Set<StoredTag>) async throws -> AudiencePage {
        var page = AudiencePage(scannedThrough: 0)
        for start in stride(from: 0, to: rows.count, by: Self.rowsARead) {
            let some = rows[start..<min(start + Self.rowsARead, rows.count)]
            page.append(try await self.store.live(some, having: tags, self.query))
        }
        return page
    }
}
