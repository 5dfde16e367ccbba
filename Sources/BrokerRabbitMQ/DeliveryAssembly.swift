import Broker

/// A delivery of which frames are still to come.
struct DeliveryAssembly {
    let tag: UInt64
    let isRedelivered: Bool
    private var header: MessageHeader?
    private var body: [UInt8] = []

    init(tag: UInt64, isRedelivered: Bool) {
        self.tag = tag
        self.isRedelivered = isRedelivered
    }

    mutating func begin(_ header: MessageHeader) {
        self.header = header
    }

    mutating func append(_ octets: [UInt8]) {
        if self.body.isEmpty {
            self.body = octets
            // A size claimed by the peer reserves no more than this.
            if let size = self.header?.bodySize, size > octets.count {
                self.body.reserveCapacity(Int(min(size, 1 << 20)))
            }
        } else {
            self.body.append(contentsOf: octets)
        }
    }

    /// The delivery, when all of it is here.
    func delivery(generation: UInt64) -> Delivery? {
        guard let header, UInt64(self.body.count) >= header.bodySize else { return nil }
        return Delivery(
            tag: self.tag,
            generation: generation,
            properties: header.properties,
            body: self.body,
            deliveryCount: header.deliveryCount ?? (self.isRedelivered ? 1 : 0),
            firstDeathQueue: header.firstDeathQueue
        )
    }
}
