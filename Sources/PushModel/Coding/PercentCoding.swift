/// Percent-encoding (RFC 3986, section 2.1), as in paths, queries and forms.
package enum PercentCoding {
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Escapes all but the unreserved characters: in a form `+` is a space, and `/` would end a part of a path.
    package static func encode(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Self.digits[Int(byte >> 4)])
                bytes.append(Self.digits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Undoes percent-encoding.
    ///
    /// - Parameters:
    ///   - text: The encoded text.
    ///   - plusIsSpace: Whether `+` is a space, as in forms and queries.
    /// - Returns: nil when an escape is cut short or the bytes are not UTF-8.
    package static func decode(_ text: Substring, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit)
                else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Divides a path or a query as it came, before its parts are decoded: an escaped separator is none.
    ///
    /// By bytes: a separator with an accent behind it is one character to Swift, and still a separator.
    package static func parts(
        of text: Substring,
        at separator: Unicode.Scalar,
        maxSplits: Int = .max,
        omittingEmpty: Bool = false
    ) -> [Substring] {
        text.utf8.split(
            separator: UInt8(ascii: separator),
            maxSplits: maxSplits,
            omittingEmptySubsequences: omittingEmpty
        ).map { Substring($0) }
    }

    /// The value of a hexadecimal digit, large or small; nil for another character.
    package static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
