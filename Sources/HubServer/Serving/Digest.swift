import Crypto

extension SHA256 {
    /// Adds texts, each with its length, so that no other texts have the same digest.
    mutating func update(texts: some Sequence<String>) {
        for text in texts { self.update(data: Array("\(text.utf8.count):\(text)".utf8)) }
    }
}
