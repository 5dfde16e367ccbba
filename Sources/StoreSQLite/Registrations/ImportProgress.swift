import PushModel
import Store

/// How far an import of some rows has come: each of its transactions takes it, and hands on what the next one begins with.
struct ImportProgress: Sendable {
    /// A row by its index, and the number that stands for its handle.
    struct Numbered: Sendable {
        let digest: Int64
        let index: Int
    }

    /// Rows of which no two have the same id.
    ///
    /// What is new among them may be written in any order. The others may take each other's handles, so they are written behind
    /// the new ones, and in their own order.
    struct Stretch: Sendable {
        /// Those that are still to be looked at, in the order of the index of handles; the same handle's in their own.
        var unseen: ArraySlice<Numbered>
        /// Those that are not new; in the rows' order once all were looked at.
        var known: ArraySlice<Numbered> = []

        var isDone: Bool { self.unseen.isEmpty && self.known.isEmpty }
    }

    /// What was written, by the rows' indices; superseded where nothing was yet.
    var results: [ImportResult]
    /// What is not written yet.
    var stretches: ArraySlice<Stretch>
    /// So many rows are looked at in one transaction: where others wait, few of many would be written.
    var most: Int

    var isDone: Bool { self.stretches.isEmpty }

    /// - Parameters:
    ///   - rows: The rows; where an id comes twice a new stretch begins, for its last row counts.
    ///   - digest: The number of a row's handle.
    init(_ rows: [ImportedRegistration], digest: (ImportedRegistration) -> Int64) {
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

/// How long one transaction of an import goes on.
struct ImportTurn {
    /// So much is done even where others wait: it takes about as long as another group of changes, and less is not worth a commit.
    static let least = 4096
    /// It is asked whether to go on when so much was done.
    static let step = 1024
    /// The work of a known row; to look at one is 1, and to insert one too.
    static let known = 4

    private let begun = ContinuousClock.now
    private let longest: Duration
    private let isAwaited: () -> Bool
    private var done = 0
    private var asked = 0
    private(set) var isOver = false

    /// - Parameters:
    ///   - longest: No turn is longer: whoever begins to wait then waits for its commit too.
    ///   - isAwaited: Whether others wait.
    init(longest: Duration, isAwaited: @escaping () -> Bool) {
        self.longest = longest
        self.isAwaited = isAwaited
    }

    /// Counts what was done.
    ///
    /// - Returns: Whether to go on.
    mutating func goesOn(after work: Int) -> Bool {
        self.done += work
        guard !self.isOver, self.done - self.asked >= Self.step else { return !self.isOver }
        self.asked = self.done
        self.isOver = .now - self.begun >= self.longest || (self.done >= Self.least && self.isAwaited())
        return !self.isOver
    }
}
