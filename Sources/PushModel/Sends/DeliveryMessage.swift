/// The body of a delivery message: batches of one app, service and priority.
///
/// A page of a campaign is a message of one batch. Each batch keeps its own key, fence and outcome; together they only travel.
package struct DeliveryMessage: Sendable, Equatable {
    /// The most batches in one.
    package static let maximumBatches = OutboxMessage.maximumMembers
    /// The greatest size of a message of several batches, in bytes; a larger batch has its own message.
    package static let maximumBytes = 192 * 1024
    /// The most devices of a message of several batches, as of a batch: the most that use a connection at a time.
    package static let maximumDevices = DeliverBatch.maximumDevices

    /// The remaining capacity of a message.
    package struct Capacity {
        private var batches = DeliveryMessage.maximumBatches
        private var bytes = DeliveryMessage.maximumBytes
        private var devices = DeliveryMessage.maximumDevices

        package init() {}

        /// Takes the capacity that a batch needs, if there is enough.
        package mutating func take(_ batch: DeliverBatch) -> Bool {
            let size = DeliveryMessage.wireSize(of: batch)
            let isFirst = self.batches == DeliveryMessage.maximumBatches
            guard isFirst || (self.batches > 0 && self.bytes >= size && self.devices >= batch.devices.count) else {
                return false
            }
            self.batches -= 1
            self.bytes -= size
            self.devices -= batch.devices.count
            return true
        }
    }

    package var batches: [DeliverBatch]

    package init(batches: [DeliverBatch]) { self.batches = batches }

    /// The bytes that a batch takes in a message, about.
    package static func wireSize(of batch: DeliverBatch) -> Int {
        // Names, numbers and lengths take less than 160 bytes.
        160 + batch.payload.body.count + (batch.collapse?.utf8.count ?? 0)
            + batch.payload.headers.reduce(0) { $0 + 8 + $1.name.utf8.count + $1.value.utf8.count }
            + batch.devices.count * 12 + batch.devices.handles.bytes.count + batch.devices.credentials.wireSize
    }

    /// The version that is written and read.
    package static let version: UInt8 = 0x83

    /// The binary form: `version u8 · count u32 · (length u32 · batch)…`, little-endian.
    package func encoded() -> [UInt8] {
        var writer = ByteWriter()
        writer.reserve(self.batches.reduce(5) { $0 + 4 + Self.wireSize(of: $1) })
        writer.integer(Self.version)
        writer.integer(UInt32(self.batches.count))
        for batch in self.batches { writer.part { batch.write(to: &$0) } }
        return writer.buffer
    }

    /// Reads the binary form.
    ///
    /// - Throws: ``MalformedDelivery`` for anything that ``encoded()`` does not write, batches of several apps, services or
    ///   priorities among it.
    package init(decoding bytes: [UInt8]) throws(MalformedDelivery) {
        guard bytes.first == Self.version else {
            throw MalformedDelivery("it is not a delivery message of this version")
        }
        var reader = ByteReader(bytes)
        let _: UInt8 = try reader.integer()
        let count: UInt32 = try reader.integer()
        guard (1...UInt32(Self.maximumBatches)).contains(count) else {
            throw MalformedDelivery("a delivery message of \(count) batches")
        }
        self.batches = []
        self.batches.reserveCapacity(Int(count))
        for _ in 0..<count {
            let batch = try DeliverBatch(reading: try reader.part())
            if let first = self.batches.first {
                guard batch.app == first.app, batch.key.pns == first.key.pns, batch.priority == first.priority else {
                    throw MalformedDelivery("batches that do not belong together")
                }
            }
            self.batches.append(batch)
        }
        guard reader.isAtEnd else { throw MalformedDelivery("it goes on behind its end") }
    }
}
