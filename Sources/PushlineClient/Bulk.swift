public import Foundation

/// The results of an import.
public struct ImportSummary: Sendable, Equatable, Codable {
    /// A line that was not taken.
    public struct Fault: Sendable, Equatable, Codable {
        /// Lines count from 1.
        public let line: Int
        /// The member that is wrong; empty = the line as a whole.
        public let member: String
        /// The fault.
        public let reason: String
    }

    /// The most faults that are kept; all are counted.
    static let maximumFaults = 1000

    /// The number of lines done, from the beginning.
    public private(set) var lines: Int
    /// New registrations.
    public private(set) var created: Int
    /// Registrations that were there and are as the lines have them.
    public private(set) var updated: Int
    /// Lines to which a change was preferred that came after the import's beginning.
    public private(set) var superseded: Int
    /// Lines that were not taken.
    public private(set) var failed: Int
    /// The first lines that were not taken.
    public private(set) var errors: [Fault]

    init(lines: Int = 0) {
        self.lines = lines
        self.created = 0
        self.updated = 0
        self.superseded = 0
        self.failed = 0
        self.errors = []
    }

    /// Adds the results of the following lines.
    mutating func add(_ next: ImportSummary) {
        let capacity = max(0, Self.maximumFaults - self.errors.count)
        self.errors += next.errors.prefix(capacity).map {
            Fault(line: self.lines + $0.line, member: $0.member, reason: $0.reason)
        }
        self.lines += next.lines
        self.created += next.created
        self.updated += next.updated
        self.superseded += next.superseded
        self.failed += next.failed
    }
}

/// An import that ended early.
///
/// Completed lines stay imported. Continue after ``done``'s lines, or start again: a repeat does no harm.
public struct ImportInterrupted: Error, Sendable, CustomStringConvertible {
    /// The results of the completed lines.
    public let done: ImportSummary
    /// Why it did not go on.
    public let cause: PushlineError

    /// The cause's words.
    public var description: String { self.cause.description }
}

/// A piece of an export.
public struct ExportPiece: Sendable, Equatable {
    /// NDJSON: one registration a line, as an import takes it.
    public let lines: Data
    /// Where the next piece begins; nil at the end.
    public let cursor: String?
}

/// Cuts a text into pieces of whole lines.
struct LinePieces {
    /// The most lines in a piece.
    let lines: Int
    /// The most bytes in a piece, but for its last line.
    let size: Int
    /// More than this of a line is not kept: the server refuses it for its length either way.
    static let longestLine = 128 * 1024

    private(set) var piece = Data()
    private var count = 0
    private var lineLength = 0

    init(lines: Int = 20_000, size: Int = 4 * 1024 * 1024) {
        self.lines = lines
        self.size = size
    }

    /// Takes text, and hands over the pieces that are full.
    mutating func add(_ text: Data, _ full: (Data) async throws -> Void) async rethrows {
        var rest = text[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            let part = rest[..<(end ?? rest.endIndex)]
            self.piece.append(part.prefix(max(0, Self.longestLine - self.lineLength)))
            self.lineLength += part.count
            rest = rest[(end.map { $0 + 1 } ?? rest.endIndex)...]
            guard end != nil else { return }
            self.piece.append(UInt8(ascii: "\n"))
            self.lineLength = 0
            self.count += 1
            if self.count >= self.lines || self.piece.count >= self.size {
                let whole = self.piece
                self.piece = Data()
                self.count = 0
                try await full(whole)
            }
        }
    }
}
