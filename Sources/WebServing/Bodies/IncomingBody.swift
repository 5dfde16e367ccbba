import Hummingbird
import NIOCore

/// What the reader of a request's body may ask of its connection.
package struct BodyConnection: Sendable {
    /// Asks for the body, where the client waits to be asked (`Expect: 100-continue`).
    var ask: @Sendable () -> Void = {}
    /// Ends it with an error, unless it has ended.
    let end: @Sendable () -> Void
}

/// A request's body as its sender means it: asked for when it is read first, and inflated.
struct IncomingBody: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    /// Beyond so many bytes, gzip may become no more than ``ratio`` times what came: lines of text become ten to fifty times as many,
    /// and a thousand times is somebody else's work for nothing.
    static let free = 256 << 10
    static let ratio = 60

    /// The most bytes that so many of gzip may become.
    static func most(of sent: Int) -> Int { Self.free + Self.ratio * sent }

    private let pieces: RequestBody
    private let ask: (@Sendable () -> Void)?
    private let coding: ContentCoding

    /// - Parameters:
    ///   - request: The request.
    ///   - coding: The body's.
    ///   - connection: Its connection.
    /// - Returns: The body to be read, once.
    static func open(_ request: Request, coding: ContentCoding, connection: BodyConnection) -> RequestBody {
        let isAwaited = Expectation(request.headers) == .goAhead
        guard isAwaited || coding != .identity else { return request.body }
        let ask = isAwaited ? connection.ask : nil
        return RequestBody(asyncSequence: IncomingBody(pieces: request.body, ask: ask, coding: coding))
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(pieces: self.pieces.makeAsyncIterator(), ask: self.ask, isGzip: self.coding == .gzip)
    }

    /// Its errors are those of the connection, and ``Problem`` 400 and 413 for what cannot be inflated, or not that far.
    struct Iterator: AsyncIteratorProtocol {
        private var pieces: RequestBody.AsyncIterator
        private var ask: (@Sendable () -> Void)?
        private let isGzip: Bool
        private var inflater: GzipInflater?
        private var read = 0
        private var made = 0

        fileprivate init(pieces: RequestBody.AsyncIterator, ask: (@Sendable () -> Void)?, isGzip: Bool) {
            self.pieces = pieces
            self.ask = ask
            self.isGzip = isGzip
        }

        mutating func next() async throws -> ByteBuffer? {
            if let ask = self.ask.take() { ask() }
            guard self.isGzip else { return try await self.pieces.next(isolation: #isolation) }
            do { return try await self.inflated() } catch let failure as GzipInflater.Failure {
                throw Self.problem(failure)
            }
        }

        private mutating func inflated() async throws -> ByteBuffer? {
            let inflater = try self.inflater ?? GzipInflater()
            self.inflater = inflater
            while true {
                if let piece = try inflater.next() {
                    try await self.count(piece.readableBytes)
                    return piece
                }
                guard let bytes = try await self.pieces.next(isolation: #isolation) else {
                    try inflater.finish()
                    return nil
                }
                self.read += bytes.readableBytes
                inflater.take(bytes)
            }
        }

        private mutating func count(_ bytes: Int) async throws {
            let before = self.made
            self.made += bytes
            guard self.made <= IncomingBody.most(of: self.read) else {
                throw Problem(
                    .contentTooLarge,
                    "the body inflates to more than \(IncomingBody.ratio) times what was sent; send it uncompressed"
                )
            }
            // One piece that was received may become very many, and others have work too.
            if before >> 20 != self.made >> 20 { await Task.yield() }
        }

        private static func problem(_ failure: GzipInflater.Failure) -> Problem {
            switch failure {
            case .malformed: Problem(.badRequest, "the body is not gzip, though Content-Encoding says so")
            case .truncated: Problem(.badRequest, "the gzip body is incomplete")
            case .noMemory: .later(.serviceUnavailable, "there is not enough memory to inflate the body", seconds: 1)
            }
        }
    }
}
