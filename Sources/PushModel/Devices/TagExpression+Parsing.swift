extension TagExpression {
    /// The longest text that is taken, in bytes.
    package static let maximumBytes = 1 << 20
    /// The most tags of an expression that somebody writes, each counted as often as it is named: each is looked at for each window of
    /// rows.
    package static let maximumOperands = 2000

    /// Reads an expression: tags, `!`, `&&`, `||` and parentheses, in this order of precedence, with optional spaces.
    ///
    /// `user('…')` stands for the user of that name, with each quote in it doubled: any name can be written so.
    ///
    /// - Parameters:
    ///   - text: The text, as a caller writes it.
    ///   - users: The app's comparison of user names.
    /// - Throws: ``InvalidValue`` that begins with the column of the error, counted from 1.
    package init(parsing text: String, _ users: AppSpec.Users) throws(InvalidValue) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw InvalidValue("a tag expression has at most \(Self.maximumBytes) bytes, not \(text.utf8.count)")
        }
        var parser = TagExpressionParser(text, users, mostOperands: Self.maximumOperands)
        self = try parser.parse()
    }

    /// Reads an expression that was taken before, of any size: a list of users is one too, and older versions took more.
    ///
    /// - Parameters:
    ///   - text: The text, as it was kept.
    ///   - users: The app's comparison of user names.
    /// - Throws: ``InvalidValue``, as for a text that is written.
    package init(stored text: String, _ users: AppSpec.Users) throws(InvalidValue) {
        var parser = TagExpressionParser(text, users, mostOperands: .max)
        self = try parser.parse()
    }
}

/// Reads the text form of a ``TagExpression`` in one pass, without recursion.
///
/// There is one of it, and nobody looks at a byte by a copy of it all.
struct TagExpressionParser: ~Copyable {
    /// The operands of a parenthesis or of the whole text, so far.
    private struct Frame {
        /// Where the parenthesis is.
        let start: Int
        /// An odd number of `!` stands before the operand that is read.
        var isNegated = false
        /// Operands so far that `&&` joins, since the last `||`.
        var joinedByAll = 0
        /// Operands so far that `||` joins.
        var joinedByAny = 0
    }

    private let bytes: [UInt8]
    private let users: AppSpec.Users
    private let mostOperands: Int
    private var operands = 0
    private var position = 0
    private var builder = TagExpression.Builder()
    private var outer: [Frame] = []
    private var frame = Frame(start: 0)

    init(_ text: String, _ users: AppSpec.Users, mostOperands: Int) {
        self.bytes = Array(text.utf8)
        self.users = users
        self.mostOperands = mostOperands
    }

    mutating func parse() throws(InvalidValue) -> TagExpression {
        while true {
            try self.readOperand()
            var operand = TagExpression.Operand.single
            while try !self.readsOperator(after: &operand) {
                guard self.current != nil else {
                    self.builder.close(operand)
                    return self.builder.expression
                }
                // End of a parenthesis: its contents are an operand of the enclosing frame.
                self.position += 1
            }
        }
    }

    /// Reads up to the end of the next tag.
    private mutating func readOperand() throws(InvalidValue) {
        while true {
            self.skipSpace()
            switch self.current {
            case UInt8(ascii: "!"):
                self.frame.isNegated.toggle()
                self.position += 1
            case UInt8(ascii: "("):
                self.outer.append(self.frame)
                self.frame = Frame(start: self.position)
                self.position += 1
            case let byte? where Tag.allows(byte):
                try self.countOperand()
                return try self.startsUser ? self.readUser() : self.readTag()
            case nil where self.outer.isEmpty && self.position == 0:
                throw self.fault("a tag expression names a tag at least")
            case nil, UInt8(ascii: ")"), UInt8(ascii: "&"), UInt8(ascii: "|"):
                throw self.fault("a tag, ! or ( is missing here")
            default:
                throw self.fault(Self.alphabet)
            }
        }
    }

    /// Whether `user('` is next.
    private var startsUser: Bool {
        self.current == Tag.userBegin[0] && self.bytes[self.position...].starts(with: Tag.userBegin)
    }

    private mutating func readUser() throws(InvalidValue) {
        guard let (name, end) = Tag.quoted(in: self.bytes, at: self.position) else {
            throw self.fault("user('…') ends with a quote and a parenthesis; a quote in the name is written twice")
        }
        do { self.builder.append(Tag(user: try UserName(name, self.users))) } catch { throw self.fault(error.reason) }
        self.position = end
    }

    private mutating func countOperand() throws(InvalidValue) {
        self.operands += 1
        guard self.operands <= self.mostOperands else {
            throw self.fault(
                "an expression has at most \(self.mostOperands) tags, repeated ones counted each time; send to many users with to.users"
            )
        }
    }

    private mutating func readTag() throws(InvalidValue) {
        let start = self.position
        while let byte = self.current, Tag.allows(byte) || self.isInName(byte, from: start) { self.position += 1 }
        let name = String(decoding: self.bytes[start..<self.position], as: UTF8.self)
        do {
            self.builder.append(try Tag(name, self.users))
        } catch {
            self.position = start
            throw self.fault(error.reason)
        }
    }

    /// Whether a byte belongs to the tag that begins there because that is one of a user or of an installation.
    private func isInName(_ byte: UInt8, from start: Int) -> Bool {
        guard Tag.allowsInName(byte) else { return false }
        // No prefix is longer.
        let begin = self.bytes[start..<self.position].prefix(Tag.installationPrefix.utf8.count)
        return Tag.names(begin.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
    }

    /// Reads `&&` or `||` after an operand, and joins the operand.
    ///
    /// - Returns: Whether there is one; if not, the frame has ended and `operand` is all of it.
    private mutating func readsOperator(after operand: inout TagExpression.Operand) throws(InvalidValue) -> Bool {
        if self.frame.isNegated {
            operand = self.builder.negate(operand)
            self.frame.isNegated = false
        }
        self.skipSpace()
        switch self.current {
        case UInt8(ascii: "&"):
            try self.expectTwice("write && instead of &")
            self.joinByAll(operand)
            return true
        case UInt8(ascii: "|"):
            try self.expectTwice("write || instead of |")
            self.joinByAny(self.endOfAll(operand))
            return true
        case nil, UInt8(ascii: ")"):
            operand = self.endOfAny(self.endOfAll(operand))
            try self.leaveFrame()
            return false
        case let byte? where Tag.allows(byte) || byte == UInt8(ascii: "!") || byte == UInt8(ascii: "("):
            if let hint = self.writtenOperator { throw self.fault(hint) }
            guard let start = self.startOfNot else {
                throw self.fault("&& or || is missing before \"\(self.nextWord)\"")
            }
            self.position = start
            throw self.fault("write ! for not")
        default:
            throw self.fault(Self.alphabet)
        }
    }

    private mutating func leaveFrame() throws(InvalidValue) {
        guard self.current != nil else {
            guard self.outer.isEmpty else {
                self.position = self.frame.start
                throw self.fault("this ( is not closed")
            }
            return
        }
        guard let outer = self.outer.popLast() else { throw self.fault("this ) closes nothing") }
        self.frame = outer
    }

    // MARK: Joining

    /// Adds an operand to those that `&&` joins; an all among them is opened, an any is closed first.
    private mutating func joinByAll(_ operand: TagExpression.Operand) {
        if case .all(let count) = operand {
            self.frame.joinedByAll += count
        } else {
            self.builder.close(operand)
            self.frame.joinedByAll += 1
        }
    }

    private mutating func joinByAny(_ operand: TagExpression.Operand) {
        if case .any(let count) = operand {
            self.frame.joinedByAny += count
        } else {
            self.builder.close(operand)
            self.frame.joinedByAny += 1
        }
    }

    /// The operands joined by `&&`, including the last one.
    private mutating func endOfAll(_ operand: TagExpression.Operand) -> TagExpression.Operand {
        guard self.frame.joinedByAll > 0 else { return operand }
        self.joinByAll(operand)
        defer { self.frame.joinedByAll = 0 }
        return .all(self.frame.joinedByAll)
    }

    private mutating func endOfAny(_ operand: TagExpression.Operand) -> TagExpression.Operand {
        guard self.frame.joinedByAny > 0 else { return operand }
        self.joinByAny(operand)
        return .any(self.frame.joinedByAny)
    }

    // MARK: Bytes

    private static let alphabet =
        "a tag is made of letters, digits and _ @ # . : -; a user of any other name is user('…')"

    private var current: UInt8? { self.position < self.bytes.count ? self.bytes[self.position] : nil }

    private mutating func skipSpace() {
        while let byte = self.current, Self.isSpace(byte) { self.position += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    /// The tag here, shortened, or the character.
    private var nextWord: String {
        let word = self.bytes[self.position...].prefix(while: Tag.allows)
        let shown = word.isEmpty ? self.bytes[self.position...].prefix(1) : word.prefix(40)
        return String(decoding: shown, as: UTF8.self)
    }

    /// The hint for an operator spelled as a word, as in other languages.
    private var writtenOperator: String? {
        let word = self.bytes[self.position...].prefix(while: Tag.allows)
        return switch String(decoding: word, as: UTF8.self).lowercased() {
        case "and": "write && for and"
        case "or": "write || for or"
        default: nil
        }
    }

    /// Where the word before this place begins, if that is a `not` in front of an operand, as in other languages.
    private var startOfNot: Int? {
        var end = self.position
        while end > 0, Self.isSpace(self.bytes[end - 1]) { end -= 1 }
        var start = end
        while start > 0, Tag.allows(self.bytes[start - 1]) { start -= 1 }
        return String(decoding: self.bytes[start..<end], as: UTF8.self).lowercased() == "not" ? start : nil
    }

    /// Reads an operator of two equal characters.
    private mutating func expectTwice(_ reason: String) throws(InvalidValue) {
        let first = self.current
        guard self.position + 1 < self.bytes.count, self.bytes[self.position + 1] == first else {
            throw self.fault(reason)
        }
        self.position += 2
    }

    /// A column is a character of Unicode: names of users have others than ASCII.
    private func fault(_ reason: String) -> InvalidValue {
        let before = String(decoding: self.bytes[..<self.position], as: UTF8.self).unicodeScalars.count
        return InvalidValue("column \(before + 1): \(reason)")
    }
}
