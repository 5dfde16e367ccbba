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
        var places: [Tag: Int] = [:]
        var names: [Tag] = []
        let placesOfRows = order.map { index in
            var found: [Int] = []
            for tag in rows[index].tags where tag.owner == nil {
                let place = places[tag] ?? names.count
                if place == names.count {
                    places[tag] = place
                    names.append(tag)
                }
                if !found.contains(place) { found.append(place) }
            }
            return found
        }
        // In the order of the index of names.
        let sorted = names.indices.sorted { names[$0] < names[$1] }
        var numbers = [Int64](repeating: 0, count: names.count)
        for (place, tag) in zip(sorted, try statements.numbers(of: sorted.map { names[$0] })) { numbers[place] = tag.1 }
        var tags: [NumberedTags] = []
        tags.reserveCapacity(order.count)
        for (index, places) in placesOfRows.enumerated() {
            // Rows next to each other often have the same.
            if index > 0, placesOfRows[index - 1] == places, let last = tags.last {
                tags.append(last)
            } else {
                tags.append(NumberedTags(places.map { numbers[$0] }))
            }
        }
        return tags
    }
}
