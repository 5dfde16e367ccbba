import PushModel

/// Whom a dead token counts for.
enum TokenOwner: Hashable {
    case user(UserName)
    /// A handle that a send names: sent to again and again, it is still one.
    case listed(Handle)
}

/// How many of each owner's devices have counted.
///
/// All tokens of one user may be invented, and prove little about other users' tokens.
struct OwnerCounts {
    /// The most of an owner's devices that count.
    private static let most = 4

    private var counts: [TokenOwner: Int] = [:]

    /// Counts a device, unless enough of its owner's have; nil = nobody's, which always counts.
    mutating func adds(_ owner: TokenOwner?) -> Bool {
        guard let owner else { return true }
        let counted = self.counts[owner, default: 0]
        guard counted < Self.most else { return false }
        self.counts[owner] = counted + 1
        return true
    }

    /// Forgets half.
    mutating func halve() { self.counts = self.counts.compactMapValues { $0 > 1 ? $0 / 2 : nil } }
}

/// A push service's answers about tokens, weighed by owner: a flood comes from many.
struct TokenAnswers {
    private(set) var dead = 0
    private(set) var live = 0
    /// Further dead tokens of an owner count neither as dead nor as live; bounded by ``dead``.
    private var owners = OwnerCounts()

    var count: Int { self.dead + self.live }

    init() {}

    init(_ statistics: SendStatistics) { self.add(statistics) }

    mutating func add(_ statistics: SendStatistics) {
        self.live += statistics.live
        for owner in statistics.owners where self.owners.adds(owner) { self.dead += 1 }
    }

    /// Whether nearly all of many answers call the tokens bad.
    func isFlood(of least: Int, share: Double) -> Bool {
        self.dead >= least && Double(self.dead) >= share * Double(self.count)
    }

    /// Forgets half.
    mutating func halve() {
        (self.dead, self.live) = (self.dead / 2, self.live / 2)
        self.owners.halve()
    }
}
