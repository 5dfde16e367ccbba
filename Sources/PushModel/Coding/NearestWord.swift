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

    /// How many letters must be changed, added or removed to make one of the other (Levenshtein).
    package static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let change = diagonal + (right[column] == letter ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(change, row[column + 1] + 1, row[column] + 1)
            }
        }
        return row[right.count]
    }
}
