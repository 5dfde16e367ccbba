import PushModel
package import Store

/// The progress of an import of some rows, handed from one transaction to the next.
package struct ImportProgress: Sendable {
    /// A row by its index, and the number that stands for its handle.
    package struct Numbered: Sendable {
        package let digest: Int64
        package let index: Int
    }

    /// Consecutive rows with distinct ids.
    ///
    /// New rows among them may be written in any order. Known ones may take each other's handles, so they are written
    /// after the new ones, and in order.
    package struct Stretch: Sendable {
        /// Rows still to be looked up, in the order of the index of handles; those of the same handle in their own
        /// order.
        package var unseen: ArraySlice<Numbered>
        /// Rows that are not new; in their own order once all were looked up.
        package var known: ArraySlice<Numbered> = []

        package var isDone: Bool { self.unseen.isEmpty && self.known.isEmpty }
    }

    /// The results by row index; superseded until written.
    package var results: [ImportResult]
    /// The rows not yet written.
    package var stretches: ArraySlice<Stretch>
    /// The most rows to look up in one transaction: if others wait, only few of many would be written.
    package var most: Int

    package var isDone: Bool { self.stretches.isEmpty }

    /// - Parameters:
    ///   - rows: The rows; where an id comes twice a new stretch begins, for its last row counts.
    ///   - digest: The number of a row's handle.
    package init(_ rows: [ImportedRegistration], digest: (ImportedRegistration) -> Int64) {
        self.results = Array(repeating: .superseded, count: rows.count)
        self.most = rows.count
        var stretches: [Stretch] = []
        var ids: Set<RegistrationID> = []
        var some: [Numbered] = []
        for (index, row) in rows.enumerated() {
            if let id = row.id, !ids.insert(id).inserted {
                stretches.append(Stretch(unseen: Self.sorted(some)))
                some = []
                ids = [id]
            }
            some.append(Numbered(digest: digest(row), index: index))
        }
        if !some.isEmpty { stretches.append(Stretch(unseen: Self.sorted(some))) }
        self.stretches = stretches[...]
    }

    private static func sorted(_ rows: [Numbered]) -> ArraySlice<Numbered> {
        rows.sorted { ($0.digest, $0.index) < ($1.digest, $1.index) }[...]
    }
}

/// The duration of one transaction of an import.
package struct ImportChunk {
    /// The work that is done even if others wait: it takes about as long as another group, and less is not worth a
    /// commit.
    package static let least = 4096
    /// The work between two checks of the time.
    package static let step = 1024
    /// The work of a known row; to look at one is 1, and to insert one too.
    package static let known = 4
    /// So many tags of a row are a work of 1 too.
    package static let tags = 4

    private let begun = ContinuousClock.now
    private let longest: Duration
    private let isAwaited: () -> Bool
    private var done = 0
    private var asked = 0
    package private(set) var isOver = false

    /// - Parameters:
    ///   - longest: The longest chunk, because a change that begins to wait also waits for its commit.
    ///   - isAwaited: Whether others wait.
    package init(longest: Duration, isAwaited: @escaping () -> Bool) {
        self.longest = longest
        self.isAwaited = isAwaited
    }

    /// What is written between two checks of the time.
    ///
    /// - Parameters:
    ///   - indexes: Which of the rows.
    ///   - rows: All rows.
    ///   - each: The work of a row without tags.
    /// - Returns: The first of the indexes, one at least, and their work.
    package static func piece(
        of indexes: ArraySlice<Int>,
        in rows: [ImportedRegistration],
        each: Int
    ) -> (indexes: ArraySlice<Int>, work: Int) {
        var (end, done) = (indexes.startIndex, 0)
        while end < indexes.endIndex, done < Self.least {
            done += each + rows[indexes[end]].tags.count / Self.tags
            end += 1
        }
        return (indexes[..<end], done)
    }

    /// Counts work done.
    ///
    /// - Returns: Whether the chunk goes on.
    package mutating func goesOn(after work: Int) -> Bool {
        self.done += work
        guard !self.isOver, self.done - self.asked >= Self.step else { return !self.isOver }
        self.asked = self.done
        self.isOver = .now - self.begun >= self.longest || (self.done >= Self.least && self.isAwaited())
        return !self.isOver
    }
}
