package import Store

/// Removes what is kept no longer: a chunk of each kind in a pass, and an idle interval where nothing is left.
///
/// Where much is left the passes follow each other, so that it keeps up with what is accepted, and take a fifth of the time at most.
///
/// It remembers where it was in memory alone: another process begins anew, and finds what is left.
package struct Cleaner: Sendable {
    /// The most rows of a chunk: some 20 ms of the store's writer.
    package static let limit = 2000
    /// How long a kind is left alone of which nothing was left.
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
    ///   - store: What is cleaned.
    ///   - ages: How long each is kept; what is not named is kept for good.
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
            let chunk = try await self.store.remove(
                kind.kind,
                olderThan: kind.age,
                after: kind.cursor,
                limit: self.limit
            )
            removed += chunk.removed
            self.kinds[index].cursor = chunk.next ?? 0
            if chunk.next == nil { self.kinds[index].due = .now + Self.idleInterval }
        }
        let end = ContinuousClock.now
        let isMore = self.kinds.contains { $0.due <= end }
        self.nextPass = isMore ? start + (end - start) * Self.share : end + .seconds(1)
        return removed
    }
}
