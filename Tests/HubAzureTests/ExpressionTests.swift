import HubAzure
import PushModel
import Testing

/// Which expressions a hub of Azure takes (contract, section 7).
@Suite("Expressions for an Azure hub")
struct ExpressionTests {
    private func parts(_ text: String) throws -> [String] {
        try AzureExpression.parts(of: TagExpression(parsing: text, .folded)).map(\.parenthesizedText)
    }

    private func tags(_ prefix: String, _ count: Int) -> [String] { (0..<count).map { "\(prefix)\($0)" } }

    @Test("what fits is one, with every parenthesis")
    func one() throws {
        try #expect(self.parts("a") == ["a"])
        let joined = try self.parts("a && !b || c")
        #expect(joined.count == 1)
        #expect(joined[0].contains("(") && joined[0].contains("!"))
        try #expect(self.parts(self.tags("a", 20).joined(separator: "||")).count == 1)
        try #expect(self.parts(self.tags("a", 6).joined(separator: "&&")).count == 1)
    }

    @Test("users beyond 20 are divided, each once, and others are refused")
    func divided() throws {
        let users = self.tags("username:u", 45)
        let parts = try self.parts(users.joined(separator: " || "))
        #expect(parts.count == 3)
        let found = parts.flatMap { $0.matches(of: /username:u[0-9]+/).map { String($0.output) } }
        #expect(found == users)
        let others = (self.tags("username:u", 20) + ["news"]).joined(separator: " || ")
        let error = #expect(throws: InvalidValue.self) { try self.parts(others) }
        #expect(error?.description.contains("at most 20 tags, not 21") == true)
    }

    @Test("a name with =, which no tag of Azure has, is refused before it fails others")
    func equalsSign() throws {
        for text in ["username:a || username:dXNlcg==", "news && !username:dXNlcg=="] {
            let error = #expect(throws: InvalidValue.self) { try self.parts(text) }
            #expect(error?.description.contains("\"username:dxnlcg==\"") == true)
        }
    }

    @Test("a tag that is named twice counts twice, as hubs count")
    func repeated() throws {
        let text = (self.tags("a", 6) + ["a0"]).joined(separator: " && ")
        let error = #expect(throws: InvalidValue.self) { try self.parts(text) }
        #expect(error?.description.contains("at most 6 tags in an expression with && or !, not 7") == true)
    }
}
