extension TagExpression {
    /// The same expression with other tags in the place of some.
    package func replacing(_ tags: [Tag: Tag]) -> TagExpression {
        var builder = Builder()
        for step in self.steps {
            if case .tag(let index) = step {
                builder.append(tags[self.tags[index]] ?? self.tags[index])
            } else {
                builder.append(step)
            }
        }
        return builder.expression
    }

    /// Whether it can hold for a registration that has none of some tags.
    ///
    /// - Parameter isAbsent: Whether a tag is one of those.
    /// - Returns: false where it holds for no such registration, whatever other tags that has.
    package func mayHold(without isAbsent: (Tag) -> Bool) -> Bool {
        // Of each operand, whether it may hold, and whether it may not.
        var operands: [(may: Bool, mayNot: Bool)] = []
        for step in self.steps {
            switch step {
            case .tag(let index): operands.append((!isAbsent(self.tags[index]), true))
            case .not:
                let operand = operands.removeLast()
                operands.append((operand.mayNot, operand.may))
            case .all(let count):
                var joined = (may: true, mayNot: false)
                // One by one: while a slice of the stack is kept, to shorten the stack copies all of it.
                for _ in 0..<count {
                    let operand = operands.removeLast()
                    joined = (joined.may && operand.may, joined.mayNot || operand.mayNot)
                }
                operands.append(joined)
            case .any(let count):
                var joined = (may: false, mayNot: true)
                for _ in 0..<count {
                    let operand = operands.removeLast()
                    joined = (joined.may || operand.may, joined.mayNot && operand.mayNot)
                }
                operands.append(joined)
            }
        }
        return operands.last?.may ?? true
    }
}
