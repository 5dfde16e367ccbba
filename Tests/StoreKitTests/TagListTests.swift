import Store
import StoreKit
import Testing

/// The numbers of tags, as rows keep them.
@Suite struct TagListTests {
    @Test(arguments: [[], [7], [1, 20, 300], [.max]] as [[Int64]])
    func aTagListIsReadBack(numbers: [Int64]) throws {
        let list = TagList(numbers)
        #expect(list.text == (numbers.isEmpty ? nil : "[" + numbers.map(String.init).joined(separator: ",") + "]"))
        #expect(try TagList(stored: list.text) == list)
    }

    @Test(arguments: ["1x", "[1", "[,]", "[-1]", "[99999999999999999999]", "[]"])
    func malformedTagListsAreRefused(text: String) throws {
        #expect(throws: StoreError.self) { try TagList(stored: text) }
    }
}
