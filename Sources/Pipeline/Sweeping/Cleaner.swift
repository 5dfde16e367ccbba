package import Store

/// Removes expired rows: a chunk of each kind in a pass, with an idle interval when nothing is left.
///
/// While rows are left the passes follow each other, to keep up with accepted work, and use at most a fifth of the
/// time.
///
/// It keeps its position only in memory: another process starts again, and finds the remaining rows.
package struct Cleaner: Sendable {
    /// The most rows of a chunk: some 20 ms of the store's writer.
    package static let limit = 2000
    /// The pause of a kind without rows to remove.
    static let idleInterval = Duration.seconds(60)
    /// How many times as long as a pass took it is until the next one begins.
    static let share = 5

    private struct Kind: Sendable {
        let kind: Retained
        let age: Duration
        var cursor: Int64 = 0
        var due = ContinuousClock.now
    }

    private let store: any HousekeepingStore
    private let limit: Int
    private var kinds: [Kind]
    /// When the next pass is due.
    package private(set) var nextPass = ContinuousClock.now

    /// - Parameters:
    ///   - store: The store.
    ///   - ages: The retention time of each kind; others are kept for ever.
    ///   - limit: The most rows of a chunk.
    package init(store: any HousekeepingStore, ages: [Retained: Duration], limit: Int = Self.limit) {
        self.store = store
        self.limit = limit
        self.kinds = Retained.allCases.compactMap { kind in ages[kind].map { Kind(kind: kind, age: $0) } }
    }

    /// Makes a pass.
    ///
    /// - Returns: How many rows it removed.
    /// - Throws: ``StoreError``.
    package mutating func pass() async throws -> Int {
        let start = ContinuousClock.now
        var removed = 0
        // Also after a failure.
        self.nextPass = start + .seconds(1)
        for index in self.kinds.indices where self.kinds[index].due <= .now {
            let kind = self.kinds[index]
            let chore = Chore.remove(kind.kind, olderThan: kind.age, after: kind.cursor)
            let chunk = try await self.store.perform(chore, limit: self.limit)
            removed += chunk.rows
            self.kinds[index].cursor = chunk.next ?? 0
            if chunk.next == nil { self.kinds[index].due = .now + Self.idleInterval }
        }
        let end = ContinuousClock.now
        let isMore = self.kinds.contains { $0.due <= end }
        self.nextPass = isMore ? start + (end - start) * Self.share : end + .seconds(1)
        return removed
    }
}
