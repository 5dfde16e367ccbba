import Foundation
import PushModel
import Testing

/// Names of users, which may be any text (decision 41), and what stands for them in expressions.
@Suite struct UserNameTests {
    /// Names that look like parts of an expression, of a path or of JSON, and names that are only unusual.
    static let unusual = [
        "auth0|5f7c", "ann+shop@example.com", "ann shop", " ", "x||vip", "a') || all('", "'", "''", "a'b", "user('a')",
        "!a", "(a)",
        "a&&b", "a\"b", "a\\b", "a/b", "../b", "a%2Fb", "$UserId:{b}", "{}", "é", "e\u{301}", "Größe", "安", "🐙", "👩‍👩‍👧",
        "\u{E000}",
        String(repeating: "u", count: 112), String(repeating: "é", count: 128),
    ]

    @Test(arguments: AppSpec.Users.allCases, Self.unusual) func anyTextIsAName(users: AppSpec.Users, text: String)
        throws
    {
        let name = try UserName(text, users)
        #expect(Array(name.name.utf8) == Array(text.utf8))
        let kept = try JSONDecoder().decode([UserName].self, from: JSONEncoder().encode([name]))[0]
        #expect(kept == name && kept.shown == name.shown)
    }

    @Test(arguments: [
        "", ".", "..", "a\n", "\t", "a\u{0}", "\u{7F}", "a\u{85}b", "a\u{2028}b", "\u{2029}", "\u{202A}", "a\u{202E}b",
        "a\u{2066}b\u{2069}",
        // What stands for text that could not be read: two names could have become this one.
        "a\u{FFFD}",
        String(repeating: "u", count: 257), String(repeating: "é", count: 128) + "y",
    ])
    func noNames(text: String) {
        for users in AppSpec.Users.allCases { #expect(throws: InvalidValue.self) { try UserName(text, users) } }
    }

    /// Swift's own texts compare by what Unicode takes for the same.
    @Test func namesCompareByTheirBytes() throws {
        let composed = try UserName("é", .folded)
        let decomposed = try UserName("e\u{301}", .folded)
        #expect(composed.name == decomposed.name)
        #expect(
            composed != decomposed && composed.key != decomposed.key
                && composed.caller.utf8.count < decomposed.caller.utf8.count
        )
        #expect(Set([composed, decomposed, composed]).count == 2)
        #expect([composed: 1, decomposed: 2][decomposed] == 2)
        let tags = [Tag(user: composed), Tag(user: decomposed)]
        #expect(tags[0] != tags[1] && Set(tags).count == 2 && TagExpression.any(tags).tags.count == 2)
        // As the store's indexes have them, and not as Unicode orders them.
        #expect(
            [composed.key, decomposed.key, "z", "ẑ", "z\u{302}"].sorted().map(\.text.utf8.count) == [3, 1, 3, 2, 3]
        )
        #expect(tags.sorted() == [tags[1], tags[0]])
    }

    @Test(arguments: Self.unusual) func aUserInAnExpressionIsThatUserAlone(text: String) throws {
        let user = try UserName(text, .folded)
        let vip = try Tag("vip", .folded)
        let tag = Tag(user: user)
        #expect(tag.owned == .user && tag.owner == user.key && !tag.begins(withOneOf: ["vip"]))
        let expression = TagExpression.any([.tag(tag), .tag(try Tag("ios", .folded))])
        // The text is stored and read again, and callers may write it.
        for again in [
            try JSONDecoder().decode([TagExpression].self, from: JSONEncoder().encode([expression]))[0],
            try TagExpression(parsing: expression.description, .exact),
            try TagExpression(parsing: expression.parenthesizedText, .exact),
        ] {
            #expect(
                again == expression && again.tags.count == 2 && !again.tags.contains(vip)
                    && again.tags[0].owner == user.key
            )
        }
        #expect(try Tag(kept: tag.name) == tag)
        let written = "!user('\(text.replacingOccurrences(of: "'", with: "''"))')"
        #expect(try TagExpression(parsing: written, .folded).tags == [tag])
    }

    /// Only a name of the tags' alphabet makes a tag, and only that can be claimed.
    @Test func onlyNamesOfTheAlphabetMakeTags() throws {
        let plain = try UserName("Ann@x.org=", .folded)
        #expect(Tag(user: plain) == Tag(.user, of: plain) && Tag(user: plain).isTag)
        #expect(try TagExpression(parsing: "user('ANN@x.org=')", .folded) == .tag(Tag(user: plain)))
        for text in Self.unusual {
            let user = try UserName(text, .folded)
            for owned in PushModel.Tag.Owned.allCases { #expect(Tag(owned, of: user) == nil) }
            #expect(!Tag(user: user).isTag)
            #expect(throws: InvalidValue.self) { try Tag(Tag(user: user).name, .folded) }
        }
    }

    @Test(arguments: [
        ("user('a'", 1), ("ios || user('a", 8), ("user('')", 1), ("user('a')b", 10), ("user('é') x", 11),
        ("user('a'b')", 1), ("user(a)", 5),
        ("user('.')", 1), ("user('a\u{202E}')", 1),
    ])
    func whatIsNoUserIsRefusedWithItsColumn(text: String, column: Int) throws {
        let error = #expect(throws: InvalidValue.self) { try TagExpression(parsing: text, .folded) }
        #expect(error?.reason.hasPrefix("column \(column): ") == true, "\(error?.reason ?? "")")
    }

    /// `user` is a tag as any other.
    @Test func theWordAloneIsATag() throws {
        #expect(try TagExpression(parsing: "user && !users", .folded).tags.map(\.name) == ["user", "users"])
    }

    @Test func namesOfKeysKeepTheirAlphabet() throws {
        for name in ["backend", "a=", String(repeating: "k", count: 111)] { try APIKey.check(name: name) }
        for name in ["", "a b", "é", "a|b", "a/b", String(repeating: "k", count: 112)] {
            #expect(throws: InvalidValue.self) { try APIKey.check(name: name) }
        }
    }
}
