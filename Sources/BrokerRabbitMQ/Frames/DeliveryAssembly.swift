import Broker
import PushModel

/// A delivery of which frames are still to come.
struct DeliveryAssembly {
    let tag: UInt64
    let isRedelivered: Bool
    private var header: MessageHeader?
    private var body: [UInt8] = []
    /// How many octets of the body came; not all are kept of one that is too large.
    private var received: UInt64 = 0

    /// The largest body that is kept, in octets: a thousand devices with the longest addresses take half of it.
    ///
    /// Whoever may publish may publish what RabbitMQ takes, which is 128 MB, and a process has a thousand messages at hand.
    static let maximumBody = 4 << 20
    /// How much is kept of a larger one, for whoever looks at it as a dead letter: no message of ours reads as one that is cut off.
    static let keptOfLarger = 64 << 10

    init(tag: UInt64, isRedelivered: Bool) {
        self.tag = tag
        self.isRedelivered = isRedelivered
    }

    mutating func begin(_ header: MessageHeader) {
        self.header = header
    }

    mutating func append(_ octets: [UInt8]) {
        self.received = self.received.clampedAdding(UInt64(octets.count))
        guard self.received <= Self.maximumBody else {
            if self.body.count > Self.keptOfLarger { self.body = Array(self.body.prefix(Self.keptOfLarger)) }
            return
        }
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
        guard let header, self.received >= header.bodySize else { return nil }
        return Delivery(
            tag: self.tag,
            generation: generation,
            properties: header.properties,
            body: self.body,
            // Of a message that comes for the first time it is its publisher's word.
            deliveryCount: self.isRedelivered ? max(1, header.deliveryCount ?? 1) : 0,
            firstDeathQueue: header.firstDeathQueue
        )
    }
}
