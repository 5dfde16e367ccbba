import Foundation

/// Counts the lines of a text in pieces; a last line without a line feed counts.
struct LineCount {
    private var feeds = 0
    private var isOpen = false

    /// The lines so far.
    var lines: Int { self.feeds + (self.isOpen ? 1 : 0) }

    mutating func add(_ text: Data) {
        self.feeds += text.count { $0 == UInt8(ascii: "\n") }
        if let last = text.last { self.isOpen = last != UInt8(ascii: "\n") }
    }

    /// - Throws: ``CommandFailure`` when that line is not there, or there is no line at all.
    func check(fromLine: Int, of file: String) throws {
        guard self.lines > 0 else { throw CommandFailure.failed("\(file) is empty") }
        guard fromLine <= self.lines else {
            throw CommandFailure.failed(
                "\(file) has \(Plural.of(self.lines, "line")): there is nothing from line \(fromLine) on"
            )
        }
    }
}
