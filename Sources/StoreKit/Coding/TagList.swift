package import Store

/// The numbers of a live registration's tags, from which its rows in `tagged` are found.
///
/// A user's own tag has no number.
package struct TagList: Equatable, Sendable {
    /// In the row's order.
    package let numbers: [Int64]

    /// A list of such numbers.
    package init(_ numbers: [Int64]) { self.numbers = numbers }

    /// - Parameter text: The column's text.
    /// - Throws: ``StoreError`` if it is not a list of numbers.
    package init(stored text: String?) throws(StoreError) {
        guard let text else {
            self.numbers = []
            return
        }
        var numbers: [Int64] = []
        var number: Int64?
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let (tens, isLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                guard !isLarge else { throw Self.broken }
                number = tens &+ Int64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: ","), UInt8(ascii: "]"):
                guard let complete = number else { throw Self.broken }
                numbers.append(complete)
                number = nil
            case UInt8(ascii: "["): continue
            default: throw Self.broken
            }
        }
        guard number == nil else { throw Self.broken }
        self.numbers = numbers
    }

    private static var broken: StoreError { StoreError(.corrupt, "a registration's tags are not a list of numbers") }

    /// A JSON array, so that SQL can read it; nil for none.
    package var text: String? {
        guard let first = self.numbers.first else { return nil }
        var text = "[\(first)"
        for number in self.numbers.dropFirst() {
            text += ","
            text += String(number)
        }
        return text + "]"
    }
}
