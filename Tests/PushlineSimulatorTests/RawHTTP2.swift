import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import PushlineSimulator

/// An HTTP/2 client that shows every frame, and breaks rules where a test wants it to.
struct RawHTTP2: Sendable {
    /// A frame as it came.
    struct Frame: Sendable {
        var type: UInt8
        var flags: UInt8
        var stream: UInt32
        var payload: [UInt8]

        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let goAway: UInt8 = 7

        /// The number at this place.
        func number(at place: Int) -> UInt32 {
            self.payload[place..<(place + 4)].reduce(0) { $0 << 8 | UInt32($1) }
        }

        /// The value of SETTINGS_MAX_CONCURRENT_STREAMS; nil where it is not set.
        var maxConcurrentStreams: Int? {
            guard self.type == Self.settings, self.flags & 1 == 0 else { return nil }
            for place in stride(from: 0, to: self.payload.count - 5, by: 6)
            where self.payload[place] == 0 && self.payload[place + 1] == 3 {
                return Int(self.number(at: place + 2))
            }
            return nil
        }

        var text: String {
            String(decoding: self.payload, as: UTF8.self)
        }
    }

    private let inbound: NIOAsyncChannelInboundStream<ByteBuffer>
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>

    /// Connects to one of the simulator's ports and says what a client says first.
    static func connect<Value: Sendable>(
        to url: String,
        trust: String,
        _ body: @escaping @Sendable (RawHTTP2, inout Reader) async throws -> Value
    ) async throws -> Value {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(trust.utf8)))
        tls.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: tls)
        let port = try #require(URL(string: url)?.port)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: context, serverHostname: nil)
                    )
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            let raw = RawHTTP2(inbound: inbound, outbound: outbound)
            try await raw.outbound.write(ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            try await raw.write(type: Frame.settings, flags: 0, stream: 0, [])
            var reader = Reader(iterator: inbound.makeAsyncIterator())
            return try await body(raw, &reader)
        }
    }

    /// Takes bytes apart into frames.
    struct Reader {
        var iterator: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        var buffer = ByteBuffer()

        /// The next frame that fits; nil at the end of the connection.
        mutating func next(where fits: (Frame) -> Bool) async throws -> Frame? {
            while true {
                while let frame = self.take() {
                    if fits(frame) { return frame }
                }
                do {
                    guard var more = try await self.iterator.next(isolation: #isolation) else { return nil }
                    self.buffer.writeBuffer(&more)
                } catch is NIOSSLError {
                    // Cut without a close-notify: as good an end.
                    return nil
                }
            }
        }

        private mutating func take() -> Frame? {
            guard self.buffer.readableBytes >= 9,
                let head = self.buffer.getBytes(at: self.buffer.readerIndex, length: 9)
            else { return nil }
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            guard self.buffer.readableBytes >= 9 + length else { return nil }
            self.buffer.moveReaderIndex(forwardBy: 9)
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let payload = self.buffer.readBytes(length: length) ?? []
            return Frame(type: head[3], flags: head[4], stream: stream, payload: payload)
        }
    }

    func write(type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) async throws {
        var bytes = ByteBuffer()
        bytes.writeBytes([UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 255), UInt8(payload.count & 255)])
        bytes.writeBytes([type, flags])
        bytes.writeInteger(stream)
        bytes.writeBytes(payload)
        try await self.outbound.write(bytes)
    }

    func acknowledgeSettings() async throws {
        try await self.write(type: Frame.settings, flags: 1, stream: 0, [])
    }

    /// Sends a request; without a body the stream stays open.
    func request(_ stream: UInt32, path: String, headers: [(String, String)], body: String?) async throws {
        var block: [UInt8] = []
        let all = [(":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "127.0.0.1")] + headers
        for (name, value) in all {
            // A literal without indexing, with a literal name (RFC 7541, 6.2.2).
            block.append(0)
            block.append(contentsOf: Self.string(name))
            block.append(contentsOf: Self.string(value))
        }
        try await self.write(type: Frame.headers, flags: 4, stream: stream, block)
        if let body { try await self.write(type: 0, flags: 1, stream: stream, Array(body.utf8)) }
    }

    private static func string(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8.count
        if rest < 127 {
            bytes.append(UInt8(rest))
        } else {
            bytes.append(127)
            rest -= 127
            while rest >= 128 {
                bytes.append(UInt8(rest & 127 | 128))
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        return bytes + Array(text.utf8)
    }
}

extension Client {
    /// A good APNs request, for ``RawHTTP2``.
    func rawHeaders(_ authorization: String) throws -> [(String, String)] {
        [
            ("authorization", "bearer " + authorization), ("apns-topic", try self.simulator.credentials.apnsTopic),
            ("apns-push-type", "alert"),
        ]
    }

    static let rawPath = "/3/device/" + Client.deviceToken
    static let rawBody = #"{"aps":{}}"#
}
