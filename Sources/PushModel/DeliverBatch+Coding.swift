extension DeliverBatch {
    /// The version that is written.
    ///
    /// A reader takes this one and the one before (rule 7).
    package static let version: UInt8 = 1

    /// The binary form: integers little-endian, texts and byte strings with a length before them.
    ///
    /// `version u8 · flags u8 · app · job 16 · pns u8 · page u32 · attempt u32 · priority u8 · expires i64 · keepUntil i64 ·
    /// collapse · kind u8 · payload · count u32 · rows i64… · handle ends u32… · handle bytes · tries u8… · waits u32…`
    package func encoded() -> [UInt8] {
        var writer = ByteWriter()
        writer.reserve(self.payload.body.count + self.devices.handles.bytes.count + self.devices.count * 17 + 256)
        writer.integer(Self.version)
        var flags: Flags = []
        if self.keepUntil != nil { flags.insert(.keepUntil) }
        if self.collapse != nil { flags.insert(.collapse) }
        if !self.devices.tries.isEmpty { flags.insert(.tries) }
        if !self.devices.waits.isEmpty { flags.insert(.waits) }
        let packed = self.key.pns == .apns ? Hexadecimal.packed(self.devices.handles) : nil
        if packed != nil { flags.insert(.packed) }
        let handles = packed ?? self.devices.handles
        writer.integer(flags.rawValue)
        writer.text(self.app.name)
        writer.integer(self.key.job.high)
        writer.integer(self.key.job.low)
        writer.integer(self.key.pns.code)
        writer.integer(UInt32(self.key.page))
        writer.integer(UInt32(self.key.attempt))
        writer.integer(UInt8(self.priority.rank))
        writer.integer(self.expires.milliseconds)
        writer.integer(self.keepUntil?.milliseconds ?? 0)
        writer.text(self.collapse ?? "")
        writer.integer(self.payload.kind.code)
        writer.bytes(self.payload.body)
        writer.integer(UInt32(self.devices.count))
        for row in self.devices.rows { writer.integer(row) }
        for end in handles.ends { writer.integer(UInt32(end)) }
        writer.bytes(handles.bytes)
        for count in self.devices.tries { writer.integer(count) }
        for wait in self.devices.waits { writer.integer(wait) }
        return writer.buffer
    }

    /// Reads the binary form.
    ///
    /// - Throws: ``MalformedBatch`` for anything that ``encoded()`` does not write: the bytes may come from anywhere.
    package init(decoding bytes: [UInt8]) throws(MalformedBatch) {
        var reader = ByteReader(bytes)
        let version: UInt8 = try reader.integer()
        guard version == Self.version else { throw MalformedBatch("its version is \(version), not \(Self.version)") }
        let flags = Flags(rawValue: try reader.integer())
        guard flags.isSubset(of: .all) else { throw MalformedBatch("it has flags of another version") }
        guard let app = try? AppID(try reader.text()) else { throw MalformedBatch("its app has no legal name") }
        let job = JobID(high: try reader.integer(), low: try reader.integer())
        guard let pns = PNS(code: try reader.integer()) else { throw MalformedBatch("its push service is unknown") }
        let page: UInt32 = try reader.integer()
        let attempt: UInt32 = try reader.integer()
        let rank: UInt8 = try reader.integer()
        guard let priority = Priority(rank: Int(rank)) else { throw MalformedBatch("its priority is unknown") }
        let expires = Timestamp(milliseconds: try reader.integer())
        let keepUntil = Timestamp(milliseconds: try reader.integer())
        // A moment before 1970 is none of ours, and time cannot be reckoned from any.
        guard keepUntil.milliseconds >= 0 else { throw MalformedBatch("it is to be kept until before 1970") }
        let collapse = try reader.text()
        guard let kind = NativePayload.Kind(code: try reader.integer()) else {
            throw MalformedBatch("its payload's kind is unknown")
        }
        let payload = NativePayload(kind: kind, body: try reader.bytes())
        let count: UInt32 = try reader.integer()
        // A page that is read again may have grown, so the planner's limit is none here; the message's own size is.
        guard Int(count) * 12 <= reader.remaining else {
            throw MalformedBatch("it has fewer than its \(count) devices")
        }
        var devices = Devices()
        devices.rows.reserveCapacity(Int(count))
        for _ in 0..<count { devices.rows.append(try reader.integer()) }
        var ends: [UInt32] = []
        ends.reserveCapacity(Int(count))
        for _ in 0..<count { ends.append(try reader.integer()) }
        let handles = try reader.bytes()
        devices.handles.reserveCapacity(Int(count), bytes: handles.count)
        var start = 0
        for end in ends {
            guard Int(end) >= start, Int(end) <= handles.count else { throw MalformedBatch("its handles overlap") }
            devices.handles.append(handles[start..<Int(end)])
            start = Int(end)
        }
        guard start == handles.count else { throw MalformedBatch("it has more handles than devices") }
        if flags.contains(.packed) { devices.handles = Hexadecimal.unpacked(devices.handles) }
        if flags.contains(.tries) { for _ in 0..<count { devices.tries.append(try reader.integer()) } }
        if flags.contains(.waits) { for _ in 0..<count { devices.waits.append(try reader.integer()) } }
        guard reader.isAtEnd else { throw MalformedBatch("it goes on behind its end") }
        self.init(
            app: app,
            key: BatchKey(job: job, pns: pns, page: Int(page), attempt: Int(attempt)),
            priority: priority,
            expires: expires,
            keepUntil: flags.contains(.keepUntil) ? keepUntil : nil,
            collapse: flags.contains(.collapse) ? collapse : nil,
            payload: payload,
            devices: devices
        )
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let keepUntil = Flags(rawValue: 1)
        static let collapse = Flags(rawValue: 2)
        static let tries = Flags(rawValue: 4)
        static let waits = Flags(rawValue: 8)
        /// The handles are hexadecimal digits, two in a byte.
        static let packed = Flags(rawValue: 16)
        static let all: Flags = [.keepUntil, .collapse, .tries, .waits, .packed]
    }
}

/// Lower-case hexadecimal digits, two in a byte: so a thousand APNs tokens fit one message.
private enum Hexadecimal {
    /// The same handles at half their length; nil where one is not made of pairs of lower-case digits.
    static func packed(_ handles: HandleList) -> HandleList? {
        guard handles.ends.allSatisfy({ $0.isMultiple(of: 2) }) else { return nil }
        var packed = HandleList()
        packed.reserveCapacity(handles.count, bytes: handles.bytes.count / 2)
        for index in 0..<handles.count {
            let digits = handles[index]
            var bytes: [UInt8] = []
            bytes.reserveCapacity(digits.count / 2)
            for position in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
                guard let high = Self.value(digits[position]), let low = Self.value(digits[position + 1]) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            }
            packed.append(bytes)
        }
        return packed
    }

    static func unpacked(_ handles: HandleList) -> HandleList {
        var unpacked = HandleList()
        unpacked.reserveCapacity(handles.count, bytes: handles.bytes.count * 2)
        for index in 0..<handles.count {
            unpacked.append(handles[index].flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] })
        }
        return unpacked
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

/// Bytes that are no deliver batch.
package struct MalformedBatch: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ reason: String) { self.description = "malformed deliver batch: \(reason)" }
}

// The wire's numbers never change; names in Swift may.
extension PNS {
    var code: UInt8 {
        switch self {
        case .apns: 1
        case .fcm: 2
        case .wns: 3
        case .mpns: 4
        }
    }

    init?(code: UInt8) {
        guard let found = PNS.allCases.first(where: { $0.code == code }) else { return nil }
        self = found
    }
}

extension NativePayload.Kind {
    fileprivate var code: UInt8 {
        switch self {
        case .alert: 1
        case .background: 2
        case .message: 3
        case .toast: 4
        case .raw: 5
        }
    }

    fileprivate init?(code: UInt8) {
        let all: [NativePayload.Kind] = [.alert, .background, .message, .toast, .raw]
        guard let found = all.first(where: { $0.code == code }) else { return nil }
        self = found
    }
}

private struct ByteWriter {
    var buffer: [UInt8] = []

    mutating func reserve(_ count: Int) { self.buffer.reserveCapacity(count) }

    mutating func integer<T: FixedWidthInteger>(_ value: T) {
        for shift in stride(from: 0, to: T.bitWidth, by: 8) {
            self.buffer.append(UInt8(truncatingIfNeeded: value >> T(shift)))
        }
    }

    mutating func bytes(_ bytes: some Collection<UInt8>) {
        self.integer(UInt32(bytes.count))
        self.buffer.append(contentsOf: bytes)
    }

    mutating func text(_ text: String) { self.bytes(Array(text.utf8)) }
}

private struct ByteReader {
    private let buffer: [UInt8]
    private var position = 0

    init(_ buffer: [UInt8]) { self.buffer = buffer }

    var remaining: Int { self.buffer.count - self.position }
    var isAtEnd: Bool { self.remaining == 0 }

    mutating func integer<T: FixedWidthInteger>() throws(MalformedBatch) -> T {
        let size = T.bitWidth / 8
        guard self.buffer.count - self.position >= size else { throw MalformedBatch("it ends too early") }
        var value: T = 0
        for offset in 0..<size {
            value |= T(truncatingIfNeeded: self.buffer[self.position + offset]) << T(offset * 8)
        }
        self.position += size
        return value
    }

    mutating func bytes() throws(MalformedBatch) -> [UInt8] {
        let length: UInt32 = try self.integer()
        guard self.buffer.count - self.position >= Int(length) else { throw MalformedBatch("it ends too early") }
        defer { self.position += Int(length) }
        return Array(self.buffer[self.position..<self.position + Int(length)])
    }

    mutating func text() throws(MalformedBatch) -> String {
        String(decoding: try self.bytes(), as: UTF8.self)
    }
}
