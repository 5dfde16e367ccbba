import Foundation
import PushModel
import Testing

/// Names compare without regard to ASCII letter case, but for exact names of users (decision 27).
@Suite struct NameComparisonTests {
    private typealias Tag = PushModel.Tag

    /// The other letter case, letter by letter, as the mask has it.
    private static func written(_ text: String, _ mask: Int) -> String {
        String(
            decoding: text.utf8.enumerated().map { index, byte in
                let isLetter = (0x61...0x7A).contains(byte | 0x20)
                return isLetter && mask >> index & 1 == 1 ? byte ^ 0x20 : byte
            },
            as: UTF8.self
        )
    }

    @Test(arguments: AppSpec.Users.allCases) func tagsNeverDifferByLetterCase(users: AppSpec.Users) throws {
        for mask in 0..<64 {
            let tag = try Tag(Self.written("b-E_t9", mask), users)
            #expect(tag == (try Tag("B-e_T9", users)))
            #expect(tag.hashValue == (try Tag("B-e_T9", users)).hashValue)
            #expect(tag.key == "b-e_t9")
            #expect(tag.name == Self.written("b-E_t9", mask))
            #expect(tag.description == tag.name)
        }
        // ASCII alone: what stands beside the letters is not a letter.
        #expect(try Tag("@", users) != Tag("`".replacing("`", with: "_"), users))
        #expect(try Tag("a1", users) < Tag("B0", users))
        #expect(try !(Tag("A", users) < Tag("a", users)))
    }

    @Test func usersDifferByLetterCaseOnlyWhereTheAppSaysSo() throws {
        let (small, large) = (try UserName("ann.b", .folded), try UserName("Ann.B", .folded))
        #expect(small == large)
        #expect(Set([small, large]).count == 1)
        #expect(large.name == "Ann.B")
        #expect(large.key == "ann.b")
        #expect(large.shown == "Ann.B")
        #expect(small.shown == nil)
        let (exact, other) = (try UserName("Ann.B", .exact), try UserName("ann.b", .exact))
        #expect(exact != other)
        #expect(exact.key == "Ann.B")
        #expect(exact.shown == nil)
    }

    @Test(arguments: PushModel.Tag.Owned.allCases) func namesInOwnedTagsCompareLikeUserNames(owned: PushModel.Tag.Owned)
        throws
    {
        let folded = try #require(Tag(owned, of: try UserName("Ann", .folded)))
        let exact = try #require(Tag(owned, of: try UserName("Ann", .exact)))
        for mask in 0..<(1 << owned.rawValue.utf8.count) {
            let beginning = Self.written(owned.rawValue, mask)
            #expect(try Tag(beginning + "ANN", .folded) == folded)
            #expect(try Tag(beginning + "Ann", .exact) == exact)
            #expect(try Tag(beginning + "ann", .exact) != exact)
            #expect(try Tag(beginning + "ann", .exact).owned == owned)
        }
        #expect(folded.key == owned.rawValue + "ann")
        #expect(exact.key == owned.rawValue + "Ann")
    }

    /// What is kept is read without knowing the app.
    @Test(arguments: AppSpec.Users.allCases, ["Beta", "UserName:Ann", "FROM:Ann@X.org", "user"])
    func storedTagsAreReadBack(users: AppSpec.Users, text: String) throws {
        let tag = try Tag(text, users)
        let read = try JSONDecoder().decode([Tag].self, from: JSONEncoder().encode([tag]))[0]
        #expect(read == tag)
        #expect(read.name == tag.name)
        let expression = try TagExpression(parsing: "!\(text) && (Other || \(text))", users)
        #expect(expression.tags.count == 2)
        let again = try JSONDecoder().decode([TagExpression].self, from: JSONEncoder().encode([expression]))[0]
        #expect(again == expression)
        #expect(again.description == expression.description)
    }

    @Test func repeatedTagsOfAnExpressionAreOneTag() throws {
        let expression = try TagExpression(parsing: "Beta && !(bETA || Username:Ann) || username:ANN", .folded)
        #expect(expression.tags.map(\.name) == ["Beta", "username:ann"])
        #expect(expression.description == "Beta && !(Beta || username:ann) || username:ann")
        let exact = try TagExpression(parsing: "Beta && !(bETA || Username:Ann) || username:ANN", .exact)
        #expect(exact.tags.map(\.name) == ["Beta", "username:Ann", "username:ANN"])
        #expect(TagExpression.any([try Tag("A", .folded), try Tag("a", .folded)]) == .tag(try Tag("a", .folded)))
    }

    @Test(arguments: [("ann", nil), ("Ann", nil), ("ann", "ANN")] as [(String, String?)])
    func storedNamesAreReadBack(key: String, shown: String?) throws {
        let name = try UserName(key: key, shownAs: shown)
        #expect(name.key.text == key)
        #expect(name.name == shown ?? key)
        #expect(throws: InvalidValue.self) { try UserName(key: "a\nb", shownAs: shown) }
        #expect(throws: InvalidValue.self) { try UserName(key: key, shownAs: "a\nb") }
    }
}
