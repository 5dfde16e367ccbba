import PushModel
import Testing
import WorkCost

@testable import JSONWebTokens

/// What taking a token apart costs, at those that are dearest; nothing of them is verified before.
@Suite("Tokens cost what they weigh") struct TokenCostTests {
    private static func token(_ header: [UInt8]) -> [UInt8] {
        Array("\(Base64URL.encode(header)).\(Base64URL.encode(Array("{}".utf8))).AAAA".utf8)
    }

    static let inputs: [DearInput] = [
        DearInput("a token, many members", isTaken: false) { size in
            Self.token(DearInput.number(size * 3 / 4, between: "{", and: "}") { "\"m\($0)\":0" })
        } read: { bytes in
            _ = try SignedToken(String(decoding: bytes, as: UTF8.self))
        },
        DearInput("a token, names with accents", isTaken: false) { size in
            Self.token(
                DearInput.number(size * 3 / 4, between: "{", and: "}") {
                    "\"a\(String(repeating: "\u{301}", count: 9))\($0)\":0"
                }
            )
        } read: { bytes in
            _ = try SignedToken(String(decoding: bytes, as: UTF8.self))
        },
        DearInput("a token, a long key id") { size in
            Self.token(DearInput.fill(size * 3 / 4 - 60, "k", between: "{\"alg\":\"ES256\",\"kid\":\"", and: "\"}"))
        } read: { bytes in
            _ = try SignedToken(String(decoding: bytes, as: UTF8.self))
        },
        DearInput("a token, points", isTaken: false) {
            DearInput.fill($0, ".")
        } read: { bytes in
            _ = try SignedToken(String(decoding: bytes, as: UTF8.self))
        },
    ]

    @Test(arguments: inputs) func reading(input: DearInput) {
        // As long as a token may be.
        let cost = input.cost(size: SignedToken.maximumLength)
        #expect(cost.passes <= WorkCost.mostPasses, "\(input): \(cost.passes) passes")
        #expect(cost.growth <= WorkCost.mostGrowth, "\(input): twice the input costs \(cost.growth) times as much")
        #expect(cost.wasTaken == input.isTaken, "\(input) is read otherwise than it was made for")
    }
}
