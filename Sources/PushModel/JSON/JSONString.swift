extension [UInt8] {
    /// Appends a text as a JSON string, in UTF-8.
    ///
    /// RFC 8259, section 7: quote, backslash and U+0000 to U+001F must be escaped, all else may stand as it is.
    package mutating func appendJSONString(_ text: String) {
        if self.appendQuoted(text) { return }
        self.append(UInt8(ascii: "\""))
        self.appendJSONEscaped(text.utf8)
        self.append(UInt8(ascii: "\""))
    }

    /// Appends what stands between the quotes of a JSON string.
    ///
    /// - Parameter text: A text in UTF-8.
    package mutating func appendJSONEscaped(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                self.append(UInt8(ascii: "\\"))
                self.append(byte)
            case 0x08: self.append(contentsOf: "\\b".utf8)
            case 0x09: self.append(contentsOf: "\\t".utf8)
            case 0x0A: self.append(contentsOf: "\\n".utf8)
            case 0x0C: self.append(contentsOf: "\\f".utf8)
            case 0x0D: self.append(contentsOf: "\\r".utf8)
            case 0..<0x20:
                self.append(contentsOf: "\\u00".utf8)
                self.append(UInt8(digit: byte >> 4))
                self.append(UInt8(digit: byte & 15))
            default: self.append(byte)
            }
        }
    }

    /// Appends a text that needs no escape, as nearly all, with its quotes.
    ///
    /// - Returns: Whether it was appended.
    private mutating func appendQuoted(_ text: String) -> Bool {
        let isPlain = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            guard unsafe !bytes.contains(where: Self.needsEscape) else { return false }
            let count = bytes.count
            // Short ones in one piece: each append looks for room.
            guard count <= 64 else {
                self.append(UInt8(ascii: "\""))
                unsafe self.append(contentsOf: bytes)
                self.append(UInt8(ascii: "\""))
                return true
            }
            unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 66) { piece in
                unsafe piece[0] = UInt8(ascii: "\"")
                for i in 0..<count { unsafe piece[i + 1] = bytes[i] }
                unsafe piece[count + 1] = UInt8(ascii: "\"")
                unsafe self.append(contentsOf: UnsafeBufferPointer(rebasing: piece[..<(count + 2)]))
            }
            return true
        }
        return isPlain == true
    }

    /// Appends a text as it is, in one piece where it lies so: as a sequence of bytes it takes twice the time.
    package mutating func append(utf8Of text: String) {
        let done: Void? = unsafe text.utf8.withContiguousStorageIfAvailable { unsafe self.append(contentsOf: $0) }
        if done == nil { self.append(contentsOf: text.utf8) }
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }
}
