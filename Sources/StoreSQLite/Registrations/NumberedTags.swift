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
        _ order: ArraySlice<Int>,
        _ statements: ImportStatements
    ) throws -> [NumberedTags] {
        // Rows next to each other often have the same: such a run is read once.
        var runs: [(tags: [Tag], rows: Int)] = []
        var last: Int?
        for index in order {
            if let last, rows[last].tags == rows[index].tags {
                runs[runs.count - 1].rows += 1
            } else {
                runs.append((rows[index].tags.filter { $0.owner == nil }, 1))
            }
            last = index
        }
        // In the order of the index of names.
        let numbers = try statements.numbers(of: Set(runs.lazy.map(\.tags).joined()).sorted())
        var numbered: [NumberedTags] = []
        numbered.reserveCapacity(order.count)
        for run in runs {
            var (own, known) = ([Int64](), Set<Int64>())
            for tag in run.tags {
                guard let number = numbers[tag] else {
                    throw StoreError(.corrupt, "a tag that was made has no number")
                }
                if known.insert(number).inserted { own.append(number) }
            }
            numbered += repeatElement(NumberedTags(own), count: run.rows)
        }
        return numbered
    }
}
