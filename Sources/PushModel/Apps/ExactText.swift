#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A text that is what its bytes are: two are equal, and come one after the other, by their UTF-8.
///
/// Swift's own texts are equal where Unicode says that they look the same: é as one character, and as e with an accent. Names of users
/// are other users' then. The store compares bytes, and so does everything that compares what is in it.
package struct ExactText: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.text = text }

    package var utf8: String.UTF8View { self.text.utf8 }

    package var description: String { self.text }

    package static func == (lhs: ExactText, rhs: ExactText) -> Bool {
        guard lhs.text.utf8.count == rhs.text.utf8.count else { return false }
        var (left, right) = (lhs.text, rhs.text)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard let first = left.baseAddress, let other = right.baseAddress else { return true }
                return unsafe memcmp(first, other, left.count) == 0
            }
        }
    }

    package static func < (lhs: ExactText, rhs: ExactText) -> Bool {
        lhs.text.utf8.lexicographicallyPrecedes(rhs.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        var text = self.text
        text.withUTF8 { bytes in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes)) }
        // What ends a text: no UTF-8 has this byte.
        hasher.combine(0xFF as UInt8)
    }
}
