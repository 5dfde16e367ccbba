import NIOCore
import Testing

@testable import WebServing

@Suite struct LineSplitterTests {
    private func split(_ text: String, pieces size: Int, limit: Int = 10) -> [String] {
        var splitter = LineSplitter(limit: limit)
        var lines: [LineSplitter.Line] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            splitter.split(ByteBuffer(bytes: rest.prefix(size))) { lines.append($0) }
            rest = rest.dropFirst(size)
        }
        if let last = splitter.last() { lines.append(last) }
        #expect(lines.map(\.number) == Array((1...max(1, lines.count)).prefix(lines.count)))
        return lines.map { $0.bytes.map { String(decoding: $0, as: UTF8.self) } ?? "too long" }
    }

    @Test(arguments: [1, 2, 3, 5, 8, 100]) func linesAreTheSameHoweverTheBodyIsSplit(size: Int) {
        #expect(self.split("a\nbb\n\nccc", pieces: size) == ["a", "bb", "", "ccc"])
        #expect(self.split("a\n", pieces: size) == ["a"])
        #expect(self.split("", pieces: size).isEmpty)
        #expect(self.split("\n\n", pieces: size) == ["", ""])
        #expect(
            self.split("1234567890\n12345678901\nx\n12345678901", pieces: size) == [
                "1234567890", "too long", "x", "too long",
            ]
        )
    }

    @Test func aTooLongLineIsNotKeptInMemory() {
        var splitter = LineSplitter(limit: 64)
        for _ in 0..<1000 { splitter.split(ByteBuffer(repeating: 0x20, count: 1000)) { _ in Issue.record("a line") } }
        #expect(splitter.last()?.bytes == nil)
        #expect(splitter.count == 1)
    }
}
