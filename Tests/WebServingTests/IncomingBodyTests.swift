import HTTPTypes
import Hummingbird
import NIOCore
import Testing
import Undisturbed

@testable import WebServing

/// Bodies in gzip, piece by piece.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct IncomingBodyTests {
    /// - Returns: How many bytes have come out, and the error that ended them.
    private static func inflate(_ pieces: [[UInt8]]) async -> (made: Int, problem: Problem?) {
        let head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/")
        let stream = AsyncStream<ByteBuffer> { stream in
            for piece in pieces { stream.yield(ByteBuffer(bytes: piece)) }
            stream.finish()
        }
        let request = Request(head: head, body: RequestBody(asyncSequence: stream))
        let body = IncomingBody.open(request, coding: .gzip, connection: BodyConnection(end: {}))
        var made = 0
        do {
            for try await piece in body {
                #expect((1...GzipInflater.piece).contains(piece.readableBytes))
                // A power of two: whoever keeps pieces keeps their bytes, and not the room for more.
                #expect(piece.storageCapacity <= 2 * piece.readableBytes)
                made += piece.readableBytes
            }
            return (made, nil)
        } catch {
            return (made, error as? Problem)
        }
    }

    /// A body without a limit of its own gives no more work than its bytes are worth.
    @Test func aBombEndsSoonAndInPieces() async throws {
        let bomb = Gzip.compress([UInt8](repeating: 0x0A, count: 64 << 20))
        #expect(bomb.count < 100 << 10)
        let (made, problem) = await Self.inflate([bomb])
        #expect(problem?.status == .contentTooLarge)
        #expect(made <= IncomingBody.free + IncomingBody.ratio * bomb.count)
    }

    @Test func membersMayBeManyAndCutAnywhere() async {
        let members = (0..<2000).map { Gzip.compress($0 % 3 == 0 ? [] : Array("\($0)".utf8)) }
        let expected = (0..<2000).filter { $0 % 3 != 0 }.reduce(0) { $0 + "\($1)".utf8.count }
        let all = Array(members.joined())
        #expect(await Self.inflate([all]).made == expected)
        let bytes = all.prefix(members.prefix(100).reduce(0) { $0 + $1.count }).map { [$0] }
        let (made, problem) = await Self.inflate(bytes)
        #expect(problem == nil && made == (0..<100).filter { $0 % 3 != 0 }.reduce(0) { $0 + "\($1)".utf8.count })
        // Exactly as much as comes out at once, and a byte more.
        for count in [GzipInflater.piece - 1, GzipInflater.piece, GzipInflater.piece + 1, 3 * GzipInflater.piece] {
            let (made, problem) = await Self.inflate([Gzip.compress([UInt8](repeating: 7, count: count))])
            #expect(made == count && problem == nil)
        }
    }
}
