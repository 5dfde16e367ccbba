import PushModel

/// Whom a dead token counts for.
enum TokenOwner: Hashable {
    case user(UserName)
    /// A handle that a send names: sent to again and again, it is still one.
    case listed(Handle)
}

/// A push service's answers about tokens, weighed by owner.
///
/// All tokens of one user may be invented, and prove little about other users' tokens. A flood comes from many owners.
struct TokenAnswers {
    /// The most dead tokens of an owner to count; further ones count neither as dead nor as live.
    private static let mostOfOwner = 4

    private(set) var dead = 0
    private(set) var live = 0
    /// Each owner's part of ``dead``; bounded by ``dead``.
    private var owners: [TokenOwner: Int] = [:]

    var count: Int { self.dead + self.live }

    init() {}

    init(_ statistics: SendStatistics) { self.add(statistics) }

    mutating func add(_ statistics: SendStatistics) {
        self.live += statistics.live
        for owner in statistics.owners {
            if let owner {
                let counted = self.owners[owner, default: 0]
                guard counted < Self.mostOfOwner else { continue }
                self.owners[owner] = counted + 1
            }
            self.dead += 1
        }
    }

    /// Whether nearly all of many answers call the tokens bad.
    func isFlood(of least: Int, share: Double) -> Bool {
        self.dead >= least && Double(self.dead) >= share * Double(self.count)
    }

    /// Forgets half.
    mutating func halve() {
        (self.dead, self.live) = (self.dead / 2, self.live / 2)
        self.owners = self.owners.compactMapValues { $0 > 1 ? $0 / 2 : nil }
    }
}
