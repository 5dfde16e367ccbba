package import PushModel

/// A tag expression for evaluation: a tree in an array, with `!` only at its leaves and the operands of a node in order
/// of cost.
///
/// It is compiled once a send, in a time that grows with its operands and not faster.
package struct CompiledExpression: Sendable {
    enum Node {
        /// The rows that have the tag of that index.
        case has(Int)
        /// The rows that do not have it.
        case lacks(Int)
        /// The rows that all of these operands have in common.
        case all([Int])
        /// The rows that one of these operands has.
        case any([Int])
    }

    /// Operands before their nodes; the last node is the root.
    private(set) var nodes: [Node] = []
    /// Whether a registration without a single tag is meant.
    private(set) var includesUntagged = false
    /// How many leaves there are.
    package private(set) var leaves = 0
    /// For each tag, whether it is named so often that its rows are read at once and kept for a window.
    private(set) var isFrequent: [Bool] = []

    /// How often a tag stands in an expression whose rows are worth keeping.
    private static let frequency = 4

    /// Deeper than this an operand may not be evaluated within another, unless it is the smaller one.
    private static let maximumDepth = 32

    /// The measures that order operands.
    private struct Measure {
        /// A registration without any tag is among its rows.
        var includesUntagged: Bool
        var isLeaf: Bool
        var leaves: Int
        var depth: Int

        /// Leaves before subtrees, and sets bounded by their tags' rows before sets of all rows.
        var rank: Int { (self.includesUntagged ? 2 : 0) + (self.isLeaf ? 0 : 1) }
    }

    package init(_ expression: TagExpression) {
        self.nodes.reserveCapacity(expression.steps.count)
        var mentions = [Int](repeating: 0, count: expression.tags.count)
        // Operands not yet joined: the node, and whether its opposite is meant.
        var open: [(node: Int, isNegated: Bool)] = []
        // For each node, whether its parent negates it.
        var negated: [Bool] = []
        for step in expression.steps {
            switch step {
            case .tag(let index):
                open.append((self.nodes.count, false))
                self.nodes.append(.has(index))
                negated.append(false)
                mentions[index] += 1
            case .not:
                open[open.count - 1].isNegated.toggle()
            case .all(let count), .any(let count):
                var members: [Int] = []
                members.reserveCapacity(count)
                // By index: while a slice of the stack is kept, to shorten the stack copies all of it.
                for index in (open.count - count)..<open.count {
                    negated[open[index].node] = open[index].isNegated
                    members.append(open[index].node)
                }
                open.removeLast(count)
                if case .all = step { self.nodes.append(.all(members)) } else { self.nodes.append(.any(members)) }
                negated.append(false)
                open.append((self.nodes.count - 1, false))
            }
        }
        if let whole = open.last { negated[whole.node] = whole.isNegated }
        self.leaves = mentions.reduce(0, +)
        self.isFrequent = mentions.map { $0 >= Self.frequency }
        self.pushDown(negated)
        self.order()
    }

    /// Moves negation down to the leaves, by De Morgan's laws; operands precede their node.
    private mutating func pushDown(_ isNegated: [Bool]) {
        var isNegated = isNegated
        for index in self.nodes.indices.reversed() where isNegated[index] {
            switch self.nodes[index] {
            case .has(let tag): self.nodes[index] = .lacks(tag)
            case .lacks(let tag): self.nodes[index] = .has(tag)
            case .all(let members):
                for member in members { isNegated[member].toggle() }
                self.nodes[index] = .any(members)
            case .any(let members):
                for member in members { isNegated[member].toggle() }
                self.nodes[index] = .all(members)
            }
        }
    }

    private mutating func order() {
        var measures: [Measure] = []
        measures.reserveCapacity(self.nodes.count)
        for index in self.nodes.indices {
            switch self.nodes[index] {
            case .has: measures.append(Measure(includesUntagged: false, isLeaf: true, leaves: 1, depth: 0))
            case .lacks: measures.append(Measure(includesUntagged: true, isLeaf: true, leaves: 1, depth: 0))
            case .all(let members):
                let isOpen = members.allSatisfy { measures[$0].includesUntagged }
                measures.append(Self.measure(members, includesUntagged: isOpen, measures))
                self.nodes[index] = .all(Self.ordered(members, measures))
            case .any(let members):
                let isOpen = members.contains { measures[$0].includesUntagged }
                measures.append(Self.measure(members, includesUntagged: isOpen, measures))
                self.nodes[index] = .any(Self.ordered(members, measures))
            }
        }
        self.includesUntagged = measures.last?.includesUntagged ?? false
    }

    private static func measure(_ members: [Int], includesUntagged: Bool, _ measures: [Measure]) -> Measure {
        Measure(
            includesUntagged: includesUntagged,
            isLeaf: false,
            leaves: members.reduce(0) { $0 + measures[$1].leaves },
            depth: members.reduce(0) { max($0, measures[$1].depth) } + 1
        )
    }

    /// The cheap ones first.
    ///
    /// The last operand is evaluated in place of its node, so a deep one goes there: within others are only those of at most half
    /// the leaves, or of little depth, and a million levels nest no deeper than fifty.
    private static func ordered(_ members: [Int], _ measures: [Measure]) -> [Int] {
        var ordered = members.sorted { (measures[$0].rank, $0) < (measures[$1].rank, $1) }
        let isDeep = members.contains { measures[$0].depth > Self.maximumDepth }
        guard isDeep else { return ordered }
        let largest = ordered.indices.max { measures[ordered[$0]].leaves < measures[ordered[$1]].leaves }
        if let largest { ordered.append(ordered.remove(at: largest)) }
        return ordered
    }
}
