extension TagExpression: CustomStringConvertible {
    /// The canonical text: no parenthesis that is not needed, a space around `&&` and `||`.
    ///
    /// Reading it gives an equal expression.
    package var description: String { self.text(withEachParenthesis: false) }

    /// The text with a parenthesis around each `&&` and `||` within another: for readers with a precedence of their own.
    package var parenthesizedText: String { self.text(withEachParenthesis: true) }

    private func text(withEachParenthesis isFull: Bool) -> String {
        guard !self.tags.isEmpty else { return "*" }
        let begins = self.operandBegins
        var text = ""
        // The pieces to write, the next at the end.
        var pieces = [Piece.operand(end: self.steps.count - 1, within: .any)]
        while let piece = pieces.popLast() {
            guard case .operand(let end, let outer) = piece else {
                if case .text(let part) = piece { text += part }
                continue
            }
            let level = Level(self.steps[end])
            if level < outer || isFull && level < .not && end < self.steps.count - 1 {
                text += "("
                pieces.append(.text(")"))
            }
            switch self.steps[end] {
            case .tag(let index): text += self.tags[index].name
            case .not:
                text += "!"
                pieces.append(.operand(end: end - 1, within: .not))
            case .all(let count):
                Self.push(count, before: end, within: .not, between: " && ", begins: begins, onto: &pieces)
            case .any(let count):
                Self.push(count, before: end, within: .all, between: " || ", begins: begins, onto: &pieces)
            }
        }
        return text
    }

    private enum Piece {
        /// The operand that ends at this step, in parentheses if it binds less tightly than required.
        case operand(end: Int, within: Level)
        case text(String)
    }

    /// How tightly a step binds.
    private enum Level: Int, Comparable {
        case any, all, not, tag

        init(_ step: Step) {
            switch step {
            case .tag: self = .tag
            case .not: self = .not
            case .all: self = .all
            case .any: self = .any
            }
        }

        static func < (lhs: Level, rhs: Level) -> Bool { lhs.rawValue < rhs.rawValue }
    }

    /// For each step, the first step of the operand that it completes.
    private var operandBegins: [Int] {
        var begins: [Int] = []
        begins.reserveCapacity(self.steps.count)
        var open: [Int] = []
        for (index, step) in self.steps.enumerated() {
            switch step {
            case .tag: open.append(index)
            case .not: break
            case .all(let count), .any(let count): open.removeLast(count - 1)
            }
            begins.append(open[open.count - 1])
        }
        return begins
    }

    /// Pushes the operands that end before a step, so that the first is written first.
    private static func push(
        _ count: Int,
        before end: Int,
        within level: Level,
        between separator: String,
        begins: [Int],
        onto pieces: inout [Piece]
    ) {
        var last = end - 1
        for number in 0..<count {
            if number > 0 { pieces.append(.text(separator)) }
            pieces.append(.operand(end: last, within: level))
            last = begins[last] - 1
        }
    }
}
