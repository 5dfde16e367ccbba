/// Several small batches of one app, service and priority in one message.
///
/// Each keeps its own key, fence and outcome; together they only travel.
package struct DeliverParcel: Sendable, Equatable {
    /// The most batches in one.
    package static let maximumBatches = 200

    package var batches: [DeliverBatch]

    package init(batches: [DeliverBatch]) { self.batches = batches }

    /// The bytes that a batch takes in a parcel, about.
    package static func wireSize(of batch: DeliverBatch) -> Int {
        // Names, numbers and lengths take less than 160 bytes.
        160 + batch.payload.body.count + (batch.collapse?.utf8.count ?? 0)
            + batch.devices.count * 12 + batch.devices.handles.bytes.count
    }

    /// The version that is written.
    ///
    /// Not a version of ``DeliverBatch``: neither is ever taken for the other.
    package static let version: UInt8 = 0x81

    /// The binary form: `version u8 · count u32 · (length u32 · batch)…`, little-endian, each batch as it is by itself.
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = [Self.version]
        bytes.reserveCapacity(self.batches.reduce(5) { $0 + 4 + Self.wireSize(of: $1) })
        Self.append(UInt32(self.batches.count), to: &bytes)
        for batch in self.batches {
            let body = batch.encoded()
            Self.append(UInt32(body.count), to: &bytes)
            bytes += body
        }
        return bytes
    }

    /// Reads the binary form.
    ///
    /// - Throws: ``MalformedBatch`` for anything that ``encoded()`` does not write, batches of several apps, services or
    ///   priorities among it.
    package init(decoding bytes: [UInt8]) throws(MalformedBatch) {
        guard bytes.first == Self.version else { throw MalformedBatch("it is no parcel of this version") }
        var position = 1
        let count = try Self.integer(in: bytes, at: &position)
        guard (1...Self.maximumBatches).contains(count) else { throw MalformedBatch("a parcel of \(count) batches") }
        self.batches = []
        self.batches.reserveCapacity(count)
        for _ in 0..<count {
            let length = try Self.integer(in: bytes, at: &position)
            guard bytes.count - position >= length else { throw MalformedBatch("it ends too early") }
            let batch = try DeliverBatch(decoding: Array(bytes[position..<position + length]))
            position += length
            if let first = self.batches.first {
                guard batch.app == first.app, batch.key.pns == first.key.pns, batch.priority == first.priority else {
                    throw MalformedBatch("batches that do not belong together")
                }
            }
            self.batches.append(batch)
        }
        guard position == bytes.count else { throw MalformedBatch("it goes on behind its end") }
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        for shift in stride(from: 0, to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
    }

    private static func integer(in bytes: [UInt8], at position: inout Int) throws(MalformedBatch) -> Int {
        guard bytes.count - position >= 4 else { throw MalformedBatch("it ends too early") }
        defer { position += 4 }
        return (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << ($1 * 8) }
    }
}
