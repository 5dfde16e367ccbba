extension Substring {
    /// Without blanks at both ends.
    package func trimming() -> Substring {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        // As nearly all texts are.
        if let first = self.utf8.first, let last = self.utf8.last, !isBlank(first), !isBlank(last) { return self }
        guard let first = self.utf8.firstIndex(where: { !isBlank($0) }),
            let last = self.utf8.lastIndex(where: { !isBlank($0) })
        else { return self.prefix(0) }
        return self[first...last]
    }
}
