/// Reads a date-time of RFC 3339, digit by digit.
struct RFC3339Reader {
    private var rest: Substring.UTF8View

    init(_ text: String) { self.rest = text[...].utf8 }

    /// - Parameter dayOf: The day of a year, month and day, counted from 1970-01-01.
    /// - Returns: Milliseconds since then, or nil if the text is not a date-time.
    mutating func milliseconds(dayOf: (Int64, Int64, Int64) -> Int64) -> Int64? {
        guard let year = self.number(4), self.take("-"), let month = self.number(2, in: 1...12), self.take("-"),
            let day = self.number(2, in: 1...Self.days(of: month, in: year)), self.take("Tt"),
            let hour = self.number(2, in: 0...23), self.take(":"), let minute = self.number(2, in: 0...59),
            self.take(":"), let second = self.number(2, in: 0...60), let fraction = self.fraction(),
            let offset = self.offset(), self.rest.isEmpty
        else { return nil }
        let minutes = dayOf(year, month, day) * 1440 + hour * 60 + minute - offset
        // Leap seconds occur only at the end of a UTC day.
        guard second < 60 || (minutes + 1).isMultiple(of: 1440) else { return nil }
        return (minutes * 60 + second) * 1000 + fraction
    }

    private static func days(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// One of these characters.
    private mutating func take(_ characters: String) -> Bool {
        guard let byte = self.rest.first, characters.utf8.contains(byte) else { return false }
        self.rest.removeFirst()
        return true
    }

    private mutating func number(_ width: Int, in range: ClosedRange<Int64> = 0...9999) -> Int64? {
        let digits = self.rest.prefix(width)
        guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.rest.removeFirst(width)
        let value = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
        return range.contains(value) ? value : nil
    }

    /// Milliseconds; 0 if there is no fraction.
    private mutating func fraction() -> Int64? {
        guard self.take(".") else { return 0 }
        let digits = self.rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return nil }
        self.rest = self.rest.dropFirst(digits.count)
        let first = Array(digits.prefix(3)) + [UInt8](repeating: 0x30, count: max(0, 3 - digits.count))
        return first.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// Minutes east of UTC.
    private mutating func offset() -> Int64? {
        if self.take("Zz") { return 0 }
        let isWest = self.rest.first == UInt8(ascii: "-")
        guard self.take("+-"), let hours = self.number(2, in: 0...23), self.take(":"),
            let minutes = self.number(2, in: 0...59)
        else { return nil }
        return (hours * 60 + minutes) * (isWest ? -1 : 1)
    }
}
