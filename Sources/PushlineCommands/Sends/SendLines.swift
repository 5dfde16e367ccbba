import ArgumentParser
import Foundation
import PushlineClient

/// Sends the lines of a file or of the standard input, piece by piece.
struct SendLines {
    /// The lines of a call: few enough for progress to be seen.
    static let lines = 2000

    let client: PushlineClient
    let options: ServerOptions
    /// Names the whole: the calls' keys are made of it.
    let key: String
    /// How often a call is made before it is given up.
    var attempts = 8
    /// The wait before the second attempt; it doubles.
    var pause = Duration.seconds(1)

    /// The results of all lines so far.
    struct Summary: Codable, Equatable {
        var lines = 0
        var accepted = 0
        var refused = 0
        /// Accepted, with members that no service takes.
        var warned = 0
        var key: String
    }

    /// - Parameter path: The file; `-` = standard input.
    /// - Throws: ``CommandFailure`` when the file cannot be read, or lines were refused.
    func run(_ path: String) async throws {
        let file = try InputFile.open(path, option: "--batch")
        let summary = try await self.send { try file.read(upToCount: 1 << 20) ?? Data() }
        guard summary.accepted + summary.refused > 0 else { throw CommandFailure.failed("--batch: no send in \(path)") }
        if self.options.format == .text, Console.isTerminal { Console.print("") }
        try self.options.show(summary) { [self.text(summary)] }
        if summary.refused > 0 {
            let were = summary.refused == 1 ? "was" : "were"
            throw CommandFailure.failed(
                "\(Plural.of(summary.refused, "line")) \(were) refused; the others are on their way"
            )
        }
    }

    /// - Parameter read: Returns the next piece of the input; empty at the end.
    /// - Returns: The results of all lines.
    /// - Throws: `PushlineError` if the server refuses the lines.
    func send(_ read: () throws -> Data) async throws -> Summary {
        var summary = Summary(key: self.key)
        var pieces = LinePieces(lines: Self.lines)
        var calls = 0
        var isAtEnd = false
        // Many lines have the same one: it is told once.
        var told: Set<String> = []
        while !isAtEnd {
            let data = try read()
            isAtEnd = data.isEmpty
            isAtEnd ? pieces.finish() : pieces.append(data)
            while let piece = pieces.next() {
                calls += 1
                for line in try await self.answers(to: piece.data, key: "\(self.key)-\(calls)") {
                    let warnings = PreviewText.lines(line.warnings)
                    summary.accepted += line.isAccepted ? 1 : 0
                    summary.refused += line.isAccepted ? 0 : 1
                    summary.warned += warnings.isEmpty ? 0 : 1
                    for text in Self.refusal(line) + warnings.filter({ told.insert($0).inserted }) {
                        Console.note("line \(summary.lines + line.line): \(text)")
                    }
                }
                summary.lines += piece.count
                if self.options.format == .text, Console.isTerminal { Console.rewrite(self.text(summary)) }
            }
        }
        return summary
    }

    /// Why a line was refused; empty = it was not.
    private static func refusal(_ line: SentLine) -> [String] {
        guard !line.isAccepted else { return [] }
        let member = line.member.map { "\($0): " } ?? ""
        return [Console.safe("\(member)\(line.detail ?? "refused with \(line.status)")")]
    }

    private func text(_ summary: Summary) -> String {
        let warned = summary.warned > 0 ? " (\(summary.warned) with warnings)" : ""
        return "\(Plural.of(summary.lines, "line")): \(summary.accepted) accepted\(warned), "
            + "\(summary.refused) refused (key \(self.key))"
    }

    /// Makes a call, again and again with its key while the server cannot take all of it.
    private func answers(to lines: Data, key: String) async throws -> [SentLine] {
        var pause = self.pause
        for attempt in 1... {
            do {
                let answers = try await self.client.send(lines: lines, idempotencyKey: key)
                guard attempt < self.attempts, answers.contains(where: \.isPassing) else { return answers }
            } catch let error as PushlineError where error.isPassing && attempt < self.attempts {
                // A repeat with the same key: accepted lines are not sent twice.
                pause = max(pause, .seconds(error.retryAfter ?? 0))
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(30))
        }
        return []
    }
}

/// Divides an input into pieces of whole lines.
///
/// The same input gives the same pieces, in any chunks, so that a repeated command repeats its calls.
struct LinePieces {
    /// The most bytes of a piece, but for a line that is longer by itself.
    static let maximumSize = 16 << 20

    struct Piece: Equatable {
        let data: Data
        /// How many lines it has, empty ones too.
        let count: Int
    }

    private let lines: Int
    private var buffer = Data()
    private var isAtEnd = false

    init(lines: Int) { self.lines = lines }

    mutating func append(_ data: Data) { self.buffer += data }

    mutating func finish() { self.isAtEnd = true }

    /// The next piece that is whole.
    mutating func next() -> Piece? {
        var count = 0
        var end = self.buffer.startIndex
        var position = self.buffer.startIndex
        while let feed = self.buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
            let isFull = count > 0 && feed + 1 - self.buffer.startIndex > Self.maximumSize
            if isFull { return self.take(to: end, count: count) }
            count += 1
            end = feed + 1
            position = end
            if count == self.lines { return self.take(to: end, count: count) }
        }
        guard self.isAtEnd, !self.buffer.isEmpty else { return nil }
        let isEnded = end == self.buffer.endIndex
        return self.take(to: self.buffer.endIndex, count: isEnded ? count : count + 1)
    }

    private mutating func take(to end: Data.Index, count: Int) -> Piece {
        let piece = Piece(data: Data(self.buffer[..<end]), count: count)
        self.buffer = Data(self.buffer[end...])
        return piece
    }
}
