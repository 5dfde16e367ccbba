import Foundation
import Testing

@testable import PushlineClient

@Suite struct BulkTests {
    private func pieces(_ text: String, cut: Int, lines: Int = 2, size: Int = 1000) async -> [String] {
        var cutter = LinePieces(lines: lines, size: size)
        var found: [String] = []
        var rest = Data(text.utf8)[...]
        while !rest.isEmpty {
            await cutter.add(Data(rest.prefix(cut))) { found.append(String(decoding: $0, as: UTF8.self)) }
            rest = rest.dropFirst(cut)
        }
        if !cutter.piece.isEmpty { found.append(String(decoding: cutter.piece, as: UTF8.self)) }
        return found
    }

    @Test(arguments: [1, 2, 3, 7, 100]) func piecesEndAtLineEnds(cut: Int) async {
        #expect(await self.pieces("a\nb\n\nc\nd", cut: cut) == ["a\nb\n", "\nc\n", "d"])
        #expect(await self.pieces("a\nb\n", cut: cut) == ["a\nb\n"])
        #expect(await self.pieces("", cut: cut).isEmpty)
        #expect(await self.pieces("aaa\nb\nc\n", cut: cut, lines: 10, size: 4) == ["aaa\n", "b\nc\n"])
    }

    @Test func aTooLongLineIsTruncatedInMemory() async {
        var cutter = LinePieces()
        for _ in 0..<100 { await cutter.add(Data(repeating: 0x20, count: 10_000)) { _ in Issue.record("a piece") } }
        #expect(cutter.piece.count == LinePieces.longestLine)
        await cutter.add(Data("\nx\n".utf8)) { _ in Issue.record("a piece") }
        #expect(cutter.piece.count == LinePieces.longestLine + 3)
    }

    private static func summary(_ lines: Int, failed: Int? = nil) -> HTTPAnswer {
        let errors = failed.map { #"{"line":\#($0),"member":"handle","reason":"bad"}"# } ?? ""
        return .json(
            """
            {"lines":\(lines),"created":\(lines - (failed == nil ? 0 : 1)),"updated":0,"superseded":0,
            "failed":\(failed == nil ? 0 : 1),"errors":[\(errors)]}
            """
        )
    }

    private func text(_ pieces: [String]) -> () -> Data? {
        var rest = pieces[...]
        return { rest.popFirst().map { Data($0.utf8) } }
    }

    @Test func importsInRequestsOfWholeLines() async throws {
        let transport = ScriptedTransport(Self.summary(20_000), Self.summary(5001, failed: 5000))
        let line = "{\"service\":\"fcm\",\"handle\":\"h\"}\n"
        var told: [Int] = []
        let done = try await client(transport, app: "shop").importRegistrations(
            from: self.text([String(repeating: line, count: 15_000), String(repeating: line, count: 10_000), "last"]),
            progress: { told.append($0.lines) }
        )
        #expect(told == [20_000, 25_001])
        #expect(done.created == 25_000)
        #expect(done.failed == 1)
        #expect(done.errors == [.init(line: 25_000, member: "handle", reason: "bad")])
        let requests = await transport.requests
        #expect(requests.map { $0.url.path } == Array(repeating: "/api/apps/shop/registrations/import", count: 2))
        #expect(requests[0].headers["Content-Type"] == "application/x-ndjson")
        #expect(requests[0].body?.count == 20_000 * line.utf8.count)
        #expect(requests[1].body?.suffix(5) == Data("\nlast".utf8))
    }

    @Test func anImportCanSkipLinesDone() async throws {
        let transport = ScriptedTransport(Self.summary(2, failed: 1))
        let done = try await client(transport).importRegistrations(skipping: 3, from: self.text(["a\nb\n", "c\nd\ne"]))
        #expect(await transport.requests.first?.body == Data("d\ne".utf8))
        #expect(done.lines == 5)
        #expect(done.errors.map(\.line) == [4])
        let none = ScriptedTransport()
        #expect(try await client(none).importRegistrations(skipping: 9, from: self.text(["a\nb"])).created == 0)
        #expect(await none.requests.isEmpty)
    }

    @Test func aBusyServerIsRetried() async throws {
        let busy = HTTPAnswer(status: 503, headers: ["retry-after": "0"])
        let transport = ScriptedTransport(busy, busy, Self.summary(1))
        #expect(try await client(transport).importRegistrations(from: self.text(["x"])).lines == 1)
    }

    @Test func anInterruptedImportReportsTheLinesDone() async throws {
        let transport = ScriptedTransport(Self.summary(20_000), HTTPAnswer(status: 403))
        let error = await #expect(throws: ImportInterrupted.self) {
            _ = try await client(transport).importRegistrations(
                from: self.text([String(repeating: "x\n", count: 30_000)])
            )
        }
        #expect(error?.done.lines == 20_000)
        #expect(error?.cause.code == .forbidden)
    }

    @Test func anExportIsStreamed() async throws {
        let transport = ScriptedTransport(
            HTTPAnswer(status: 200, headers: ["pushline-cursor": "7"], body: Data("a\n".utf8)),
            HTTPAnswer(status: 200, body: Data("b\n".utf8))
        )
        var pieces: [ExportPiece] = []
        try await client(transport).exportRegistrations(tag: "t", service: .fcm) { pieces.append($0) }
        #expect(pieces == [.init(lines: Data("a\n".utf8), cursor: "7"), .init(lines: Data("b\n".utf8), cursor: nil)])
        #expect(
            await transport.lines == [
                "GET /api/registrations/export?tag=t&service=fcm&limit=10000",
                "GET /api/registrations/export?tag=t&service=fcm&limit=10000&cursor=7",
            ]
        )
    }
}
