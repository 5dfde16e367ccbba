/// Seeks the rows of many tags, some at a time, and keeps the first.
package struct RowSearch: Sendable {
    /// The cost of a seek to a tag, in rows stepped over.
    private static let seekCost = 16

    package let slot: Int
    package let after: Int64
    /// How many rows are wanted.
    package let most: Int
    private let tags: [StoredTag]
    /// How many of the tags were sought.
    private var done = 0
    /// Rows beyond this do not count any more.
    package private(set) var end: Int64
    package private(set) var rows: [Int64] = []

    package init(tags: [StoredTag], slot: Int, after: Int64, through: Int64, most: Int) {
        self.tags = tags
        self.slot = slot
        self.after = after
        self.end = through
        self.most = most
    }

    package var isDone: Bool { self.done == self.tags.count }

    /// The tags that are to be sought: of each the first rows in `(after, end]`, so many as are wanted.
    package var next: ArraySlice<StoredTag> { self.tags[self.done...] }

    /// Whether so many rows, of so many tags, are to be added before more are sought.
    package func isPiece(_ rows: Int, of tags: Int, maximumCost: Int) -> Bool {
        rows >= self.most || rows + tags * Self.seekCost >= maximumCost
    }

    /// Adds the rows that the next tags have.
    package mutating func add(_ rows: [Int64], of tags: Int) {
        self.rows += rows
        self.done += tags
        if self.rows.count >= 2 * self.most || self.isDone { self.cut() }
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
