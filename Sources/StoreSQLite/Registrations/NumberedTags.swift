import PushModel
import Store
import StoreKit

/// The tags of a row but its user's own, as the store keeps them.
struct NumberedTags {
    let numbers: [Int64]
    /// See ``TagList/text``.
    let text: String?

    init(_ numbers: [Int64]) {
        self.numbers = numbers
        self.text = TagList(numbers).text
    }
}

extension RegistrationImport {
    /// The tags of rows, each looked up or made once.
    static func numberedTags(
        of rows: [ImportedRegistration],
        _ order: [Int],
        _ statements: ImportStatements
    ) throws -> [NumberedTags] {
        let tags = order.map { rows[$0].tags.filter { $0.owner == nil } }
        // In the order of the index of names.
        let numbers = try statements.numbers(of: Set(tags.joined()).sorted())
        var (numbered, last) = ([NumberedTags](), [Tag]())
        numbered.reserveCapacity(order.count)
        for tags in tags {
            // Rows next to each other often have the same.
            if tags == last, let same = numbered.last {
                numbered.append(same)
                continue
            }
            var own: [Int64] = []
            for tag in tags {
                guard let number = numbers[tag] else {
                    throw StoreError(.corrupt, "a tag that was made has no number")
                }
                if !own.contains(number) { own.append(number) }
            }
            numbered.append(NumberedTags(own))
            last = tags
        }
        return numbered
    }
}
