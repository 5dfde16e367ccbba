import Foundation
import NIOCore
import NIOPosix

/// A client of AMQP 0-9-1 that writes its frames by hand, so that it can publish what no library would.
package struct RawAMQP {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// A message with its properties as they travel.
    package struct Message: Sendable {
        package var type: [UInt8] = Array("send".utf8)
        package var messageID: [UInt8] = Array("hostile".utf8)
        package var contentType: [UInt8] = Array("text/plain".utf8)
        /// The entries of the table of headers, encoded.
        package var headers: [UInt8] = []
        package var body: [UInt8] = [1]

        package init() {}
    }

    private static let channel: UInt16 = 1
    private let socket: any Channel
    private var pieces: AsyncThrowingStream<ByteBuffer, any Error>.Iterator
    private var unread = ByteBuffer()

    /// Publishes a message to each of some queues, and returns when the broker has confirmed all.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - queues: Their names.
    ///   - url: The broker's, `amqp://user:password@host:port/vhost`.
    /// - Throws: ``Failure`` when the broker does not take it, or has no such queue.
    package static func publish(_ message: Message, to queues: [String], at url: String) async throws {
        guard let parts = URLComponents(string: url), let host = parts.host, let port = parts.port else {
            throw Failure(description: "\(url) is no address")
        }
        let (pieces, continuation) = AsyncThrowingStream<ByteBuffer, any Error>.makeStream()
        let socket = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelInitializer { $0.pipeline.addHandler(Reader(continuation)) }
            .connect(host: host, port: port).get()
        var client = RawAMQP(socket: socket, pieces: pieces.makeAsyncIterator())
        let outcome: Result<Void, any Error>
        do {
            try await client.logIn(parts.user ?? "", parts.password ?? "", String(parts.path.dropFirst()))
            for queue in queues { try await client.publish(message, to: queue) }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        try await socket.close()
        try outcome.get()
    }

    private mutating func logIn(_ user: String, _ password: String, _ virtualHost: String) async throws {
        try await self.send(ByteBuffer(bytes: Array("AMQP".utf8) + [0, 0, 9, 1]))
        _ = try await self.method(10, 10)
        let credentials = Array("\0\(user)\0\(password)".utf8)
        try await self.call(10, 11, Self.long([]) + Self.short("PLAIN") + Self.long(credentials) + Self.short("en_US"))
        // What the broker proposes is taken, but no heartbeats.
        var limits = try await self.method(10, 30)
        guard let proposed = limits.readBytes(length: 6) else { throw Failure(description: "a short tune method") }
        try await self.call(10, 31, proposed + [0, 0])
        try await self.call(10, 40, Self.short(virtualHost) + Self.short("") + [0])
        _ = try await self.method(10, 41)
        try await self.call(20, 10, Self.short(""), channel: Self.channel)
        _ = try await self.method(20, 11)
        try await self.call(85, 10, [0], channel: Self.channel)
        _ = try await self.method(85, 11)
    }

    private mutating func publish(_ message: Message, to queue: String) async throws {
        let flags: UInt16 = 1 << 15 | 1 << 13 | 1 << 12 | 1 << 7 | 1 << 5
        var header = ByteBuffer(integers: 60, 0)
        header.writeInteger(UInt64(message.body.count))
        header.writeInteger(flags)
        header.writeBytes(Self.short(message.contentType) + Self.long(message.headers) + [2])
        header.writeBytes(Self.short(message.messageID) + Self.short(message.type))
        // Mandatory: a queue that is not there is told.
        try await self.call(60, 40, [0, 0] + Self.short("") + Self.short(queue) + [1], channel: Self.channel)
        try await self.send(Self.frame(2, Self.channel, header))
        try await self.send(Self.frame(3, Self.channel, ByteBuffer(bytes: message.body)))
        _ = try await self.method(60, 80)
    }

    // MARK: - Values

    /// A header whose value is arrays in one another.
    package static func nested(levels: Int) -> [UInt8] {
        // Each level is a kind and a length, five octets; the innermost is empty.
        var octets = self.short("x")
        for level in 0..<levels { octets += [UInt8(ascii: "A")] + self.number(UInt32(5 * (levels - 1 - level))) }
        return octets
    }

    /// A header with a text.
    package static func text(_ name: String, _ value: [UInt8]) -> [UInt8] {
        self.short(name) + [UInt8(ascii: "S")] + self.long(value)
    }

    private static func short(_ octets: [UInt8]) -> [UInt8] { [UInt8(octets.count)] + octets }

    private static func short(_ text: String) -> [UInt8] { self.short(Array(text.utf8)) }

    private static func long(_ octets: [UInt8]) -> [UInt8] { self.number(UInt32(octets.count)) + octets }

    private static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    // MARK: - Frames

    private static func frame(_ type: UInt8, _ channel: UInt16, _ payload: ByteBuffer) -> ByteBuffer {
        var frame = ByteBuffer(integer: type)
        frame.writeInteger(channel)
        frame.writeInteger(UInt32(payload.readableBytes))
        frame.writeImmutableBuffer(payload)
        frame.writeInteger(UInt8(0xCE))
        return frame
    }

    private func send(_ octets: ByteBuffer) async throws { try await self.socket.writeAndFlush(octets) }

    private func call(_ group: UInt16, _ method: UInt16, _ arguments: [UInt8], channel: UInt16 = 0) async throws {
        var payload = ByteBuffer(integers: group, method)
        payload.writeBytes(arguments)
        try await self.send(Self.frame(1, channel, payload))
    }

    /// The arguments of the next method, which must be this one.
    private mutating func method(_ group: UInt16, _ method: UInt16) async throws -> ByteBuffer {
        while true {
            var frame = self.unread
            if let type = frame.readInteger(as: UInt8.self), frame.readInteger(as: UInt16.self) != nil,
                let length = frame.readInteger(as: UInt32.self), var payload = frame.readSlice(length: Int(length)),
                frame.readInteger(as: UInt8.self) != nil
            {
                self.unread = frame
                let found = (payload.readInteger(as: UInt16.self), payload.readInteger(as: UInt16.self))
                guard type == 1, found == (group, method) else {
                    let words = String(buffer: payload)
                    throw Failure(description: "the broker says \(found), not \((group, method)): \(words)")
                }
                return payload
            }
            guard let piece = try await self.pieces.next(isolation: #isolation) else {
                throw Failure(description: "the broker closed the connection")
            }
            self.unread.writeImmutableBuffer(piece)
        }
    }

    private init(socket: any Channel, pieces: AsyncThrowingStream<ByteBuffer, any Error>.Iterator) {
        self.socket = socket
        self.pieces = pieces
    }

    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        let pieces: AsyncThrowingStream<ByteBuffer, any Error>.Continuation

        init(_ pieces: AsyncThrowingStream<ByteBuffer, any Error>.Continuation) { self.pieces = pieces }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { self.pieces.yield(self.unwrapInboundIn(data)) }

        func channelInactive(context: ChannelHandlerContext) { self.pieces.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { self.pieces.finish(throwing: error) }
    }
}

extension ByteBuffer {
    fileprivate init(integers numbers: UInt16...) {
        self.init()
        for number in numbers { self.writeInteger(number) }
    }
}
