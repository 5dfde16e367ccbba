package import NIOCore

/// Splits a body into lines, independent of the chunks it arrives in.
package struct LineSplitter {
    /// A line of a body.
    package struct Line: Sendable {
        /// Lines count from 1, empty ones too.
        package let number: Int
        /// Without its line break; nil = longer than the limit, and not kept.
        package let bytes: [UInt8]?
    }

    /// The most bytes of a line.
    let limit: Int
    /// Lines that ended so far.
    private(set) var count = 0
    /// The beginning of the line that has not ended yet.
    private var rest: [UInt8] = []
    private var isTooLong = false

    package init(limit: Int) { self.limit = limit }

    /// Takes a piece of the body, and hands over the lines that end in it.
    package mutating func split(_ piece: ByteBuffer, _ body: (Line) throws -> Void) rethrows {
        var rest = Array(buffer: piece)[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            self.keep(rest[..<end])
            try body(self.line())
            rest = rest[(end + 1)...]
        }
        self.keep(rest)
    }

    /// The last line, where the body does not end with a line break.
    package mutating func last() -> Line? { self.rest.isEmpty && !self.isTooLong ? nil : self.line() }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) {
        if self.isTooLong || self.rest.count + bytes.count > self.limit {
            self.isTooLong = true
            self.rest.removeAll()
        } else {
            self.rest.append(contentsOf: bytes)
        }
    }

    private mutating func line() -> Line {
        self.count += 1
        defer {
            self.rest = []
            self.isTooLong = false
        }
        return Line(number: self.count, bytes: self.isTooLong ? nil : self.rest)
    }
}

extension LineSplitter.Line {
    /// Nothing but blanks: not counted as anything.
    package var isBlank: Bool {
        self.bytes?.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } ?? false
    }
}
