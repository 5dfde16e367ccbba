import PushModel
import Store
import StoreKit
import Testing

/// The cursors of lists, without a store.
@Suite struct ListCursorsTests {
    private static let key = (0..<32).map { UInt8($0) }

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

    /// Neighbours have nothing in common, at any place of the text.
    @Test func aCursorShowsNoOrder() throws {
        let cursors = try ListCursors(key: Self.key)
        let texts = (0..<200).map { Array(cursors.seal($0, .jobs, of: .default).utf8) }
        #expect(Set(texts).count == 200)
        for place in texts[0].indices { #expect(Set(texts.map { $0[place] }).count > 20, "\(place)") }
    }
}
