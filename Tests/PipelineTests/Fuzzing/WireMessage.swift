import Broker
import CRabbitMQ
import PushModel
import SeededRandom

@testable import BrokerRabbitMQ

/// A message as it travels, of which every part may be anything.
struct WireMessage {
    /// A header, its value encoded with the letter of its kind before it.
    struct Header {
        var name: [UInt8]
        var value: [UInt8]
    }

    var type: [UInt8]
    var messageID: [UInt8]
    var contentType: [UInt8]
    var correlationID: [UInt8]?
    var headers: [Header]
    var body: [UInt8]
    var isRedelivered = false

    /// As our own publisher writes it.
    init(_ message: OutgoingMessage) {
        self.type = Array(message.properties.type.utf8)
        self.messageID = Array(message.properties.messageID.utf8)
        self.contentType = Array(message.properties.contentType.utf8)
        self.headers = message.properties.headers.sorted { $0.key < $1.key }
            .map { Header(name: Array($0.key.utf8), value: Self.text(Array($0.value.utf8))) }
        self.body = message.body
    }

    /// The value of a header that is a text.
    static func text(_ octets: [UInt8]) -> [UInt8] { [UInt8(ascii: "S")] + self.long(octets) }

    /// The properties of the header frame.
    var properties: [UInt8] {
        let flags: UInt16 = 1 << 15 | 1 << 13 | (self.correlationID == nil ? 0 : 1 << 10) | 1 << 7 | 1 << 5
        let table = self.headers.flatMap { Self.short($0.name) + $0.value }
        return [UInt8(flags >> 8), UInt8(flags & 255)] + Self.short(self.contentType) + Self.long(table)
            + (self.correlationID.map(Self.short) ?? []) + Self.short(self.messageID) + Self.short(self.type)
    }

    private static func short(_ octets: [UInt8]) -> [UInt8] { [UInt8(min(octets.count, 255))] + octets.prefix(255) }

    private static func long(_ octets: [UInt8]) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: octets.count >> $0) } + octets
    }

    /// What the driver makes of it.
    ///
    /// - Parameter properties: As of ``properties``, or whatever came of them.
    /// - Returns: nil where the library cannot read the properties: the connection ends, and not the process.
    func delivery(_ properties: [UInt8]) -> Delivery? {
        guard let header = Self.header(properties, bodySize: UInt64(self.body.count)) else { return nil }
        var assembly = DeliveryAssembly(tag: 1, isRedelivered: self.isRedelivered)
        assembly.begin(header)
        // In two frames.
        assembly.append(Array(self.body.prefix(self.body.count / 2)))
        assembly.append(Array(self.body.suffix(from: self.body.count / 2)))
        return assembly.delivery(generation: 1)
    }

    private static func header(_ properties: [UInt8], bodySize: UInt64) -> MessageHeader? {
        var octets = properties
        var pool = unsafe amqp_pool_t()
        return unsafe withUnsafeMutablePointer(to: &pool) { pool in
            unsafe init_amqp_pool(pool, 4096)
            defer { unsafe empty_amqp_pool(pool) }
            return unsafe octets.withUnsafeMutableBytes { buffer in
                var decoded: UnsafeMutableRawPointer?
                let bytes = unsafe amqp_bytes_t(len: buffer.count, bytes: buffer.baseAddress)
                let status = unsafe amqp_decode_properties(UInt16(AMQP_BASIC_CLASS), pool, bytes, &decoded)
                guard status >= 0, let decoded = unsafe decoded else { return nil }
                let found = unsafe decoded.assumingMemoryBound(to: amqp_basic_properties_t.self)
                return unsafe MessageHeader(found, bodySize: bodySize)
            }
        }
    }
}

/// Makes hostile messages out of our own: deterministic, so that a seed and a number name a message.
struct MessageMutator {
    private var random: SeededGenerator

    init(seed: UInt64) { self.random = SeededGenerator(seed: seed) }

    /// What headers and properties have a meaning for, and what breaks who believes them.
    private static let words: [[UInt8]] =
        [
            "", "0", "1", "-1", "7", "1000", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
            "18446744073709551615", "1e309", "nan", "default", "no such app", "pushline.deliver.apns.normal.v2",
            "\u{0}", "e\u{301}",
            "\u{202E}", "👩‍👩‍👧", "019ab7f2-4c1e-7c3a-9d55-3f2b8e0a1c77",
            "019ab7f2-4c1e-7c3a-9d55-3f2b8e0a1c77/apns/4294967295/4294967295",
        ].map { Array($0.utf8) } + [
            [0xFF, 0xFE], [0xC3], Array(repeating: 0x61, count: 255), Array(repeating: 0xF0, count: 60_000),
        ]

    private static let names = [
        "app", "devices", "queue", "reason", "x-delivery-count", "x-first-death-queue", "x-death", "traceparent", "",
    ].map { Array($0.utf8) }

    /// Numbers at the ends of their kinds.
    private static let numbers: [UInt64] = [
        0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF,
        0x8000_0000_0000_0000, .max,
    ]

    /// Changes a message in one to many places.
    mutating func mutate(_ message: inout WireMessage) {
        repeat { self.change(&message) } while Bool.random(using: &self.random)
    }

    /// What is sent of its properties: mostly what they are.
    mutating func properties(of message: WireMessage) -> [UInt8] {
        var octets = message.properties
        if Int.random(in: 0..<4, using: &self.random) == 0 { self.damage(&octets) }
        return octets
    }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &self.random)]
    }

    mutating func number() -> UInt64 {
        Bool.random(using: &self.random) ? self.pick(Self.numbers) : .random(in: .min ... .max, using: &self.random)
    }

    private mutating func change(_ message: inout WireMessage) {
        switch Int.random(in: 0..<10, using: &self.random) {
        case 0: message.messageID = self.pick(Self.words)
        case 1: message.type = self.pick(Self.words)
        case 2: message.contentType = self.pick(Self.words)
        case 3: message.correlationID = self.pick(Self.words)
        case 4: message.isRedelivered.toggle()
        case 5, 6: self.setHeader(&message)
        default: self.damage(&message.body)
        }
    }

    private mutating func setHeader(_ message: inout WireMessage) {
        let header = WireMessage.Header(name: self.pick(Self.names), value: self.value(depth: 0))
        let known = message.headers.firstIndex { $0.name == header.name }
        // Twice the same name, too.
        if let known, Int.random(in: 0..<4, using: &self.random) > 0 {
            message.headers[known] = header
        } else {
            message.headers.append(header)
        }
    }

    /// A value of any kind that AMQP has.
    private mutating func value(depth: Int) -> [UInt8] {
        let kind = self.pick(Array("SSSSSSxtbBuUsiIlLdfTDVAF?".utf8))
        let number = (0..<8).map { [bits = self.number()] in UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
        switch kind {
        case UInt8(ascii: "S"), UInt8(ascii: "x"): return [kind] + WireMessage.text(self.pick(Self.words)).dropFirst()
        case UInt8(ascii: "A") where depth < 4:
            return [kind] + WireMessage.text(self.value(depth: depth + 1)).dropFirst()
        case UInt8(ascii: "F") where depth < 4:
            return [kind] + WireMessage.text([1, 0x61] + self.value(depth: depth + 1)).dropFirst()
        case UInt8(ascii: "t"), UInt8(ascii: "b"), UInt8(ascii: "B"): return [kind] + number.prefix(1)
        case UInt8(ascii: "u"), UInt8(ascii: "U"), UInt8(ascii: "s"): return [kind] + number.prefix(2)
        case UInt8(ascii: "i"), UInt8(ascii: "I"), UInt8(ascii: "f"): return [kind] + number.prefix(4)
        case UInt8(ascii: "D"): return [kind] + number.prefix(5)
        case UInt8(ascii: "V"): return [kind]
        default: return [kind] + number
        }
    }

    private mutating func damage(_ octets: inout [UInt8]) {
        guard !octets.isEmpty else { return octets = self.pick(Self.words) }
        let place = Int.random(in: octets.indices, using: &self.random)
        switch Int.random(in: 0..<6, using: &self.random) {
        case 0, 1: octets[place] = .random(in: .min ... .max, using: &self.random)
        case 2: octets.removeSubrange(place..<min(octets.count, place + Int.random(in: 1...16, using: &self.random)))
        case 3: octets.insert(contentsOf: self.pick(Self.words), at: place)
        case 4: octets = Array(octets.prefix(place))
        default:
            // A length, a count or a time, wherever one is.
            let (number, width) = (self.number(), self.pick([1, 2, 4, 8]))
            for offset in 0..<width where place + offset < octets.count {
                octets[place + offset] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(offset)))
            }
        }
    }
}
