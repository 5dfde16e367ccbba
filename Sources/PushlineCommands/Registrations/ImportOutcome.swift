import Foundation
import PushlineClient

/// The input of an import.
struct ImportReading {
    let fromLine: Int
    /// The file's bytes; nil if that is not known.
    let size: Int?
    private(set) var count = LineCount()
    private var read = 0
    /// The bytes before the piece in which the first line is that is sent.
    private var skipped = 0

    init(fromLine: Int, size: Int?) {
        self.fromLine = fromLine
        self.size = size
    }

    /// Whether nothing that was read so far is sent.
    var isSkipping: Bool { self.count.lines < self.fromLine }

    /// The share of the input that was read.
    var share: Double? {
        self.size.map { Double(self.read - self.skipped) / Double(max(1, $0 - self.skipped)) }
    }

    mutating func add(_ text: Data) {
        self.read += text.count
        self.count.add(text)
        if self.isSkipping { self.skipped = self.read }
    }
}

/// The results of an import's lines.
struct ImportOutcome: Encodable {
    /// The first of them; the next import continues `lines` lines further.
    let fromLine: Int
    let lines: Int
    let created: Int
    let updated: Int
    let superseded: Int
    let failed: Int
    /// Their lines count from the beginning of the file.
    let errors: [ImportSummary.Fault]

    init(_ summary: ImportSummary, fromLine: Int) {
        self.fromLine = fromLine
        self.lines = summary.lines - (fromLine - 1)
        self.created = summary.created
        self.updated = summary.updated
        self.superseded = summary.superseded
        self.failed = summary.failed
        self.errors = summary.errors
    }

    var words: String {
        let begin = self.fromLine == 1 ? "" : " (from line \(self.fromLine))"
        return "\(Plural.of(self.lines, "line"))\(begin): \(self.created) created, \(self.updated) updated, "
            + "\(self.superseded) superseded, \(self.failed) failed"
    }
}
