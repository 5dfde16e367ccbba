import Foundation
import PushModel
import Testing

@Suite struct TagExpressionTests {
    @Test(arguments: [
        ("a", "a"), (" a ", "a"), ("username:ann@x.org", "username:ann@x.org"), ("a_b-c.d#1:2", "a_b-c.d#1:2"),
        ("a&&b", "a && b"), ("a\t||\r\n b", "a || b"), ("!a", "!a"), ("! a", "!a"), ("!!a", "a"), ("!!!a", "!a"),
        ("(a)", "a"), ("((a))", "a"), ("!(a)", "!a"), ("!(!a)", "a"), ("!(!(a&&b))&&c", "a && b && c"),
        ("a || b && c", "a || b && c"), ("(a || b) && c", "(a || b) && c"), ("a && b || c && d", "a && b || c && d"),
        ("a && (b && c)", "a && b && c"), ("a || (b || c)", "a || b || c"),
        ("(a && b) && (c && d)", "a && b && c && d"),
        ("a && (b || (c && (d || e)))", "a && (b || c && (d || e))"), ("!a && b", "!a && b"),
        ("!(a && b)", "!(a && b)"),
        ("!(a || b) && !(c && !d)", "!(a || b) && !(c && !d)"),
        ("(a || b) || c && (d && e) || f", "a || b || c && d && e || f"),
        ("a && !(!(b || c))", "a && (b || c)"), ("and || or && not", "and || or && not"), ("a||a", "a || a"),
        ("!(a || b) || !c", "!(a || b) || !c"), ("(!(a)||(b))&&(((c)))", "(!a || b) && c"),
    ])
    func anExpressionHasACanonicalText(text: String, canonical: String) throws {
        let expression = try TagExpression(parsing: text, .folded)
        #expect(expression.description == canonical)
        #expect(try TagExpression(parsing: canonical, .folded) == expression)
        #expect(Set(expression.tags).count == expression.tags.count)
    }

    @Test(arguments: [
        ("", 1, "names a tag"), ("  ", 3, "is missing"), ("a &&", 5, "is missing"), ("a && ", 6, "is missing"),
        ("&& a", 1, "is missing"), ("a && || b", 6, "is missing"), ("()", 2, "is missing"),
        ("(a && )", 7, "is missing"),
        ("!", 2, "is missing"), ("a !", 3, "&& or || is missing before \"!\""),
        ("a b", 3, "&& or || is missing before \"b\""),
        ("a and b", 3, "write && for and"), ("a(b)", 2, "&& or || is missing"), ("(a)(b)", 4, "&& or || is missing"),
        ("a & b", 3, "write && instead of &"), ("a &", 3, "write &&"), ("a | b", 3, "write || instead of |"),
        ("a |& b", 3, "write ||"),
        ("a AND b", 3, "write && for and"), ("(a or b)", 4, "write || for or"), ("a android", 3, "&& or || is missing"),
        ("not a", 1, "write ! for not"), ("a && NOT (b)", 6, "write ! for not"), ("(not\n!a)", 2, "write ! for not"),
        ("a not", 3, "&& or || is missing"), ("knot a", 6, "&& or || is missing"), ("not and a", 5, "write && for and"),
        ("(a", 1, "not closed"), ("x && ((a) || b", 6, "not closed"), ("a)", 2, "closes nothing"),
        ("(a))", 4, "closes nothing"), ("a,b", 2, "is made of"), ("é", 1, "is made of"), ("a && b$", 7, "is made of"),
        ("a && $b", 6, "is made of"), ("'a'", 1, "is made of"), ("a\u{0}", 2, "is made of"),
        ("a\u{A0}b", 2, "is made of"),
        ("b || " + String(repeating: "a", count: 121), 6, "120"), ("a &&& b", 5, "is missing"),
    ])
    func aSyntaxErrorHasItsColumn(text: String, column: Int, reason: String) throws {
        let error = #expect(throws: InvalidValue.self) { try TagExpression(parsing: text, .folded) }
        #expect(error?.reason.hasPrefix("column \(column): ") == true, "\(error?.reason ?? "")")
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test func tagsAreListedOnce() throws {
        let expression = try TagExpression(parsing: "b && a || !b && c", .folded)
        #expect(expression.tags.map(\.name) == ["b", "a", "c"])
        #expect(expression.alternatives == nil)
        #expect(try TagExpression(parsing: "b || a || b", .folded).alternatives?.map(\.name) == ["b", "a"])
        #expect(try TagExpression(parsing: "b", .folded).alternatives?.map(\.name) == ["b"])
        #expect(try TagExpression(parsing: "!b", .folded).alternatives == nil)
        #expect(try TagExpression(parsing: "!a || b", .folded).alternatives == nil)
    }

    @Test func aComposedExpressionEqualsAParsedOne() throws {
        let read = try TagExpression(parsing: "a || b || a && c || !d", .folded)
        let any = TagExpression.any([
            try TagExpression(parsing: "a || b", .folded), try TagExpression(parsing: "a && c", .folded),
            try TagExpression(parsing: "!d", .folded),
        ])
        #expect(any == read)
    }

    @Test func theWordsAndAndOrAreTags() throws {
        #expect(try TagExpression(parsing: "and && or", .folded).tags.map(\.name) == ["and", "or"])
    }

    struct Large: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        /// Where the fault is.
        let column: Int

        init(_ name: String, _ text: String, column: Int = 0) {
            self.testDescription = name
            self.text = text
            self.column = column
        }
    }

    private static func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

    static let large = [
        Large("parentheses", Self.times(100_000, "(") + "a" + Self.times(100_000, ")")),
        Large("not", Self.times(100_001, "!") + "a"),
        Large("not in parentheses", Self.times(100_001, "!(") + "a" + Self.times(100_001, ")")),
        Large("or", Self.times(100_000, "a||") + "b"),
        Large("nested to the right", Self.times(30_000, "a&&(b||(") + "c" + Self.times(30_000, "))")),
        Large("nested to the left", Self.times(50_000, "(") + "a" + Self.times(50_000, "&&b)||c")),
        Large("nested under not", Self.times(50_000, "a&&!(") + "c" + Self.times(50_000, ")")),
        Large("many tags", (0..<20_000).map { "t\($0)" }.joined(separator: "&&")),
    ]

    /// Neither depth nor size overflows a stack, or takes more than linear time: quadratic time would take minutes here.
    @Test(arguments: large)
    func expressionsOfAnySizeAreRead(large: Large) throws {
        let expression = try TagExpression(stored: large.text, .folded)
        let data = try JSONEncoder().encode([expression])
        let isRead = try JSONDecoder().decode([TagExpression].self, from: data) == [expression]
        #expect(isRead)
    }

    static let largeFaults = [
        Large("parentheses", Self.times(100_000, "("), column: 100_001),
        Large("or", Self.times(100_000, "a||"), column: 300_001),
        Large("not closed", Self.times(100_000, "(a||") + "b", column: 399_997),
    ]

    @Test(arguments: largeFaults)
    func aSyntaxErrorInALargeExpressionHasItsColumn(large: Large) {
        let error = #expect(throws: InvalidValue.self) { try TagExpression(stored: large.text, .folded) }
        #expect(error?.reason.hasPrefix("column \(large.column): ") == true, "\(error?.reason ?? "")")
    }

    @Test func theSizeOfAnExpressionIsBounded() throws {
        let most = TagExpression.maximumBytes
        #expect(try TagExpression(parsing: String(repeating: " ", count: most - 1) + "a", .folded).tags.count == 1)
        let error = #expect(throws: InvalidValue.self) {
            try TagExpression(parsing: String(repeating: " ", count: most) + "a", .folded)
        }
        #expect(error?.reason == "a tag expression has at most 1048576 bytes, not 1048577")
    }

    /// What is written is bounded by what its evaluation costs; what was taken before is read again whatever its size.
    @Test func theTagsOfAnExpressionAreCounted() throws {
        let most = TagExpression.maximumOperands
        let taken = Self.times(most / 2 - 1, "(a||b)&&") + "(a||b)"
        #expect(try TagExpression(parsing: taken, .folded).steps.count == most + most / 2 + 1)
        let error = #expect(throws: InvalidValue.self) { try TagExpression(parsing: taken + "&&c", .folded) }
        #expect(
            error?.reason.hasPrefix("column \(taken.utf8.count + 3): an expression has at most 2000 tags") == true
        )
        #expect(try TagExpression(stored: taken + "&&c", .folded).tags.count == 3)
        // Users count, however they are written.
        let users = Self.times(most, "user('a b')||") + "user('c')"
        #expect(throws: InvalidValue.self) { try TagExpression(parsing: users, .folded) }
        #expect(try TagExpression(stored: users, .folded).tags.count == 2)
    }
}
