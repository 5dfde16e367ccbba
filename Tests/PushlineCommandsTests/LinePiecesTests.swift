import Foundation
import PushlineClient
import Testing

@testable import PushlineCommands

@Suite struct LinePiecesTests {
    /// The pieces of a text that comes in parts of that size.
    private static func pieces(_ text: String, parts size: Int, lines: Int = 2) -> [LinePieces.Piece] {
        let data = Data(text.utf8)
        var pieces = LinePieces(lines: lines)
        var found: [LinePieces.Piece] = []
        for start in stride(from: 0, to: data.count, by: size) {
            pieces.append(data[start..<min(start + size, data.count)])
            while let piece = pieces.next() { found.append(piece) }
        }
        pieces.finish()
        while let piece = pieces.next() { found.append(piece) }
        return found
    }

    @Test(arguments: [1, 2, 3, 5, 100]) func theSameInputGivesTheSamePieces(size: Int) {
        let found = Self.pieces("a\nb\n\nc\nd", parts: size)
        #expect(found.map { String(decoding: $0.data, as: UTF8.self) } == ["a\nb\n", "\nc\n", "d"])
        #expect(found.map(\.count) == [2, 2, 1])
    }

    @Test(arguments: [("", []), ("a", [1]), ("a\n", [1]), ("a\nb\n", [2]), ("\n\n\n", [2, 1])] as [(String, [Int])])
    func theLastPieceMayLackALineEnd(text: String, counts: [Int]) {
        #expect(Self.pieces(text, parts: 1).map(\.count) == counts)
    }

    @Test(
        arguments: [([], 0), (["a"], 1), (["a", "b\n"], 1), (["a\nb", "", "\nc"], 3), (["\n", "\n"], 2)]
            as [([String], Int)]
    )
    func linesAreCounted(pieces: [String], lines: Int) {
        var count = LineCount()
        for piece in pieces { count.add(Data(piece.utf8)) }
        #expect(count.lines == lines)
    }

    @Test func aFirstLineBeyondTheFileIsRefused() throws {
        var count = LineCount()
        #expect(throws: CommandFailure.failed("f is empty")) { try count.check(fromLine: 1, of: "f") }
        count.add(Data("a\nb".utf8))
        try count.check(fromLine: 2, of: "f")
        #expect(throws: CommandFailure.failed("f has 2 lines: there is nothing from line 3 on")) {
            try count.check(fromLine: 3, of: "f")
        }
        #expect(ImportStop(lines: 7).words.hasSuffix("7 lines are done, go on with --from-line 8"))
    }

    @Test func skippedLinesAreNotCounted() throws {
        var reading = ImportReading(fromLine: 4, size: 16)
        reading.add(Data("aa\nbb\n".utf8))
        #expect(reading.isSkipping)
        reading.add(Data("cc\nd".utf8))
        #expect(!reading.isSkipping)
        #expect(reading.share == 0.4)
        reading.add(Data("d\nee\nf".utf8))
        #expect(reading.share == 1)
        #expect(ImportReading(fromLine: 4, size: nil).share == nil)

        let fault = #"{"line":5,"member":"handle","reason":"bad"}"#
        let text = #"{"lines":6,"created":1,"updated":0,"superseded":1,"failed":1,"errors":[\#(fault)]}"#
        let summary = try JSONDecoder().decode(ImportSummary.self, from: Data(text.utf8))
        let part = ImportOutcome(summary, fromLine: 4)
        #expect(part.words == "3 lines (from line 4): 1 created, 0 updated, 1 superseded, 1 failed")
        let json = try JSONOutput.encoded(part)
        #expect(json.contains(#""fromLine" : 4"#) && json.contains(#""lines" : 3"#) && json.contains(#""line" : 5"#))
        let whole = ImportOutcome(summary, fromLine: 1)
        #expect(whole.words == "6 lines: 1 created, 0 updated, 1 superseded, 1 failed")
    }

    @Test func piecesHaveABoundedSize() {
        let line = String(repeating: "x", count: LinePieces.maximumSize / 3) + "\n"
        let found = Self.pieces(String(repeating: line, count: 5), parts: 1 << 20, lines: 100)
        #expect(found.map(\.count) == [2, 2, 1])
    }
}
