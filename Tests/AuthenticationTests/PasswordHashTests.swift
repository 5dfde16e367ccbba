import Authentication
import PushModel
import Testing

@Suite struct PasswordHashTests {
    private static let cheap = PasswordHash.Cost(rounds: 2, blockSize: 8, parallelism: 1)

    @Test func hashesAreSaltedAndReadBack() throws {
        let first = try PasswordHash.make("pässword", cost: Self.cheap)
        #expect(try first != PasswordHash.make("pässword", cost: Self.cheap))
        let hash = try #require(PasswordHash(first))
        #expect(try hash.matches("pässword"))
        #expect(try !hash.matches("password"))
        #expect(throws: InvalidValue.self) { try PasswordHash.make("") }
        #expect(throws: InvalidValue.self) { try PasswordHash.make(String(repeating: "x", count: 1025)) }
    }

    @Test(arguments: [
        "", "scrypt", "bcrypt$2$8$1$AAAA$AAAA", "scrypt$3$8$1$AAAA$AAAA", "scrypt$1073741824$8$1$AAAA$AAAA",
        "scrypt$2$8$1$!$!",
        "scrypt$2$8$1$AAAA$AAAA",
    ])
    func malformedHashesAreRefused(text: String) { #expect(PasswordHash(text) == nil) }

    @Test func comparisonFailsForAnotherLength() {
        #expect(ConstantTime.equal([1, 2], [1, 2]))
        #expect(!ConstantTime.equal([1, 2], [1, 3]))
        #expect(!ConstantTime.equal([1, 2], [1, 2, 0]))
    }
}
