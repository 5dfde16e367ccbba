import PushModel
import Store
import StoreKit
import Testing
import WorkCost

/// The cursors of lists, without a store.
@Suite struct ListCursorsTests {
    private static let key = (0..<32).map { UInt8($0) }
    private static let own = Result { try ListCursors(key: key) }
    private static let given = (try? own.get().seal(1, .jobs, of: .default)) ?? ""

    @Test func aCursorIsReadWithItsKeyAlone() throws {
        let cursors = try ListCursors(key: Self.key)
        let other = try ListCursors(key: Self.key.reversed())
        for list in PagedList.allCases {
            for number in [0, 1, 2, 255, 1 << 48, Int64.max] {
                let text = cursors.seal(number, list, of: .default)
                #expect(try cursors.open(text, list, of: .default) == number)
                #expect(throws: StoreError.self) { try other.open(text, list, of: .default) }
                #expect(throws: StoreError.self) { try cursors.open(text, list, of: nil) }
                for another in PagedList.allCases where another != list {
                    #expect(throws: StoreError.self) { try cursors.open(text, another, of: .default) }
                }
            }
        }
        #expect(try cursors.open(nil, .jobs, of: .default) == nil)
        #expect(throws: StoreError.self) { try ListCursors(key: [1]) }
    }

    /// A query's parameter may be as long as a request's head: what is made up costs its bytes.
    @Test(arguments: cursors)
    func reading(input: DearInput) {
        let cost = input.cost(size: 32 << 10)
        #expect(cost.passes <= WorkCost.mostPasses, "\(input): \(cost.passes) passes")
        #expect(cost.growth <= WorkCost.mostGrowth, "\(input): twice the input costs \(cost.growth) times as much")
        #expect(cost.wasTaken == input.isTaken, "\(input) is read otherwise than it was made for")
    }

    private static func cursor(_ name: String, isTaken: Bool = false, _ make: @escaping @Sendable (Int) -> [UInt8])
        -> DearInput
    {
        DearInput("a cursor, \(name)", isTaken: isTaken, make) { bytes in
            _ = try Self.own.get().open(String(decoding: bytes, as: UTF8.self), .jobs, of: .default)
        }
    }

    static let cursors: [DearInput] = [
        Self.cursor("one that was given", isTaken: true) { _ in Array(Self.given.utf8) },
        Self.cursor("as it is written, too long") { DearInput.fill($0, "AAAA") },
        Self.cursor("many given ones") { DearInput.fill($0, Self.given) },
        Self.cursor("a letter that is none at its end") { DearInput.fill($0, "A", and: "*") },
        Self.cursor("padding") { DearInput.fill($0, "=", between: "AAAA") },
        Self.cursor("accents") { DearInput.fill($0, "\u{301}", between: "A") },
    ]

    /// Neighbours have nothing in common, at any place of the text.
    @Test func aCursorShowsNoOrder() throws {
        let cursors = try ListCursors(key: Self.key)
        let texts = (0..<200).map { Array(cursors.seal($0, .jobs, of: .default).utf8) }
        #expect(Set(texts).count == 200)
        for place in texts[0].indices { #expect(Set(texts.map { $0[place] }).count > 20, "\(place)") }
    }
}
