/// Guesses the intended spelling of a word.
package enum NearestWord {
    /// No name of ours is longer, and comparing costs the product of the lengths.
    private static let longest = 40

    /// The word that is nearest to a misspelt one, or nil when none is near.
    package static func to(_ word: String, among words: [String]) -> String? {
        guard word.utf8.count <= Self.longest else { return nil }
        let near = words.map { (word: $0, distance: Self.distance($0, word)) }.min { $0.distance < $1.distance }
        guard let near, near.distance <= max(1, word.count / 3) else { return nil }
        return near.word
    }

    /// How many letters must be changed, added, removed or swapped with the next to make one of the other (Levenshtein, with transpositions).
    package static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var (before, row) = ([Int](), Array(0...right.count))
        for index in left.indices {
            var next = [index + 1]
            for column in right.indices {
                let change = left[index] == right[column] ? 0 : 1
                var least = min(row[column] + change, row[column + 1] + 1, next[column] + 1)
                let isSwap =
                    index > 0 && column > 0 && left[index] == right[column - 1] && left[index - 1] == right[column]
                if isSwap { least = min(least, before[column - 1] + 1) }
                next.append(least)
            }
            (before, row) = (row, next)
        }
        return row[right.count]
    }
}
