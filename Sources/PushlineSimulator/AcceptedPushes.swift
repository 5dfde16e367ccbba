import Crypto
import DequeModule
import Foundation
import NIOCore
import PushModel

/// The identity of an accepted push, for checks that nothing was lost or sent twice.
struct AcceptedPush: Equatable {
    /// Its place among all that were accepted since the start, from 0.
    var index: Int
    var pns: PushService
    var token: String
    /// The same in every copy: the `apns-id`, or 16 hexadecimal digits of the body's SHA-256.
    var id: String
    /// The title or first text of the message, cut to 64 bytes; otherwise the collapse id; otherwise empty.
    var marker: String
}

/// The last accepted pushes, packed in blocks: two million of them in 256 MiB.
struct AcceptedPushes {
    /// Neighbours in one allocation, forgotten together.
    private struct Block {
        /// The index of its first push.
        var first: Int
        var count = 0
        /// Each: service, lengths of id and marker, length of the token (little-endian), then the three.
        var bytes: [UInt8] = []
    }

    private static let blockSize = 1 << 18
    private static let longestMarker = 64

    private let maximumBlocks: Int
    private var blocks: Deque<Block> = []
    private(set) var next = 0
    private var lastBody = ByteBuffer()
    private var lastMarker: [UInt8] = []

    init(maximumSize: Int = 1 << 28) {
        self.maximumBlocks = max(2, maximumSize / Self.blockSize)
    }

    /// The index of the oldest that is kept; those before it were forgotten.
    var first: Int { self.blocks.first?.first ?? self.next }

    /// Forgets them; indices go on.
    mutating func clear() {
        self.blocks = []
    }

    mutating func append(_ pns: PushService, token: String, request: InboundRequest) {
        let marker = self.marker(of: request)
        let id = request.notificationID.map { Array($0.utf8.prefix(255)) }
        self.append(pns, token: token, id: id ?? Self.digest(of: request.body), marker: marker)
    }

    private mutating func append(_ pns: PushService, token: String, id: [UInt8], marker: [UInt8]) {
        if self.blocks.last.map({ $0.bytes.count >= Self.blockSize }) ?? true {
            if self.blocks.count == self.maximumBlocks { self.blocks.removeFirst() }
            self.blocks.append(Block(first: self.next))
        }
        let token = token.utf8.prefix(Int(UInt16.max))
        let length = UInt16(token.count)
        let place = self.blocks.count - 1
        self.blocks[place].bytes.append(contentsOf: [
            UInt8(pns.number), UInt8(id.count), UInt8(marker.count),
            UInt8(truncatingIfNeeded: length), UInt8(length >> 8),
        ])
        self.blocks[place].bytes.append(contentsOf: token)
        self.blocks[place].bytes.append(contentsOf: id)
        self.blocks[place].bytes.append(contentsOf: marker)
        self.blocks[place].count += 1
        self.next += 1
    }

    /// The pushes from an index on, oldest first.
    func pushes(since: Int, limit: Int) -> [AcceptedPush] {
        var found: [AcceptedPush] = []
        for block in self.blocks where block.first + block.count > since {
            var place = 0
            for index in block.first..<block.first + block.count {
                if found.count == limit { return found }
                let bytes = block.bytes[place...].prefix(5)
                let header = Array(bytes)
                let token = place + 5
                let id = token + Int(header[3]) + Int(header[4]) << 8
                let marker = id + Int(header[1])
                place = marker + Int(header[2])
                guard index >= since, let pns = PushService(number: Int(header[0])) else { continue }
                found.append(
                    AcceptedPush(
                        index: index,
                        pns: pns,
                        token: String(decoding: block.bytes[token..<id], as: UTF8.self),
                        id: String(decoding: block.bytes[id..<marker], as: UTF8.self),
                        marker: String(decoding: block.bytes[marker..<place], as: UTF8.self)
                    )
                )
            }
        }
        return found
    }

    private static func digest(of body: ByteBuffer) -> [UInt8] {
        SHA256.hash(data: Data(body.readableBytesView)).prefix(8).flatMap {
            [UInt8(digit: $0 >> 4), UInt8(digit: $0 & 15)]
        }
    }

    /// Read once where a campaign's payloads are equal.
    private mutating func marker(of request: InboundRequest) -> [UInt8] {
        if request.body != self.lastBody {
            self.lastBody = request.body
            self.lastMarker = Self.text(in: Data(request.body.readableBytesView))
        }
        if !self.lastMarker.isEmpty { return self.lastMarker }
        return Array((request["apns-collapse-id"] ?? "").utf8.prefix(Self.longestMarker))
    }

    /// The bytes before a text in each service's messages, and the byte that ends it.
    private static let places: [(before: [Data], end: UInt8)] =
        ["title", "alert", "body", "message"].map { ([Data("\"\($0)\":\"".utf8)], UInt8(ascii: "\"")) }
        + [([Data("<text".utf8), Data(">".utf8)], UInt8(ascii: "<"))]

    private static func text(in body: Data) -> [UInt8] {
        for (before, end) in Self.places {
            var start: Data.Index? = body.startIndex
            for text in before {
                start = start.flatMap { body.range(of: text, in: $0..<body.endIndex)?.upperBound }
            }
            if let start { return Array(body[start...].prefix(Self.longestMarker).prefix { $0 != end }) }
        }
        return []
    }
}
