/// A text that may be clipped to some number of its characters again and again.
///
/// A character may have tens of thousands of accents, and to find where it ends all of them are read: that is done once.
struct TextCuts: Sendable {
    private let text: String
    /// Where the first, the second … character begins, as far as that is known.
    private var begins: [String.Index]
    /// A text with more characters is longer than all values of a notification may be, clipped there or not.
    private static let most = HubTemplate.maximumValues + 4

    init(_ text: String) {
        self.text = text
        self.begins = [text.startIndex]
    }

    /// Clips a text once.
    static func clip(_ text: String, to most: Int?, hasDots: Bool) -> String {
        var cuts = TextCuts(text)
        return cuts.clip(to: most, hasDots: hasDots)
    }

    /// The first characters, the last of them perhaps dots; the whole text where it has no more.
    mutating func clip(to most: Int?, hasDots: Bool) -> String {
        guard let most = most.map({ min($0, Self.most) }) else { return self.text }
        while self.begins.count <= most, let last = self.begins.last, last < self.text.endIndex {
            self.begins.append(self.text.index(after: last))
        }
        guard self.begins.count > most, self.begins[most] < self.text.endIndex else { return self.text }
        guard hasDots else { return String(self.text[..<self.begins[most]]) }
        return self.text[..<self.begins[max(0, most - 3)]] + String(repeating: ".", count: min(3, most))
    }
}
