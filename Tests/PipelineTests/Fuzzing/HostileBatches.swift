import PushModel

/// Batches that are read without a fault, and that no send worker of ours would write.
struct HostileBatches {
    private var mutator: MessageMutator
    private static let texts = [
        "", "a", "\u{0}", "not a url", "https://", "https://[::1]:99999/", "{\"endpoint\":1}", "\u{202E}\r\nx: y",
    ]

    init(seed: UInt64) { self.mutator = MessageMutator(seed: seed) }

    mutating func next(for pns: PushService) -> DeliverBatch {
        var devices = DeliverBatch.Devices()
        let count = Int(self.mutator.number() % 4)
        for index in 0..<count {
            devices.rows.append(Int64(bitPattern: self.mutator.number()))
            devices.handles.append(self.text().utf8)
            if self.mutator.number() % 4 == 0, let name = try? CredentialName("c\(self.mutator.number() % 3)") {
                devices.credentials.append(name, at: index)
            }
        }
        if self.mutator.number().isMultiple(of: 2) {
            devices.tries = (0..<count).map { _ in UInt8(truncatingIfNeeded: self.mutator.number()) }
        }
        if self.mutator.number().isMultiple(of: 2) {
            devices.waits = (0..<count).map { _ in UInt32(truncatingIfNeeded: self.mutator.number()) }
        }
        let job = JobID(high: self.mutator.number(), low: self.mutator.number())
        let key = BatchKey(job: job, pns: pns, page: self.small(), attempt: self.small())
        return DeliverBatch(
            app: .default,
            key: key,
            priority: self.mutator.pick([.low, .normal, .high]),
            expires: Timestamp(milliseconds: Int64(bitPattern: self.mutator.number())),
            keepUntil: self.moment(),
            collapse: self.mutator.number().isMultiple(of: 2) ? self.text() : nil,
            payload: NativePayload(
                kind: self.mutator.pick(pns.descriptor.kinds),
                headers: ["apns-expiration", "X-WNS-TTL", "TTL"].prefix(Int(self.mutator.number() % 4))
                    .map { .init($0, "\(Int64(bitPattern: self.mutator.number()))") },
                body: Array(self.text().utf8)
            ),
            devices: devices,
            isDryRun: self.mutator.number() % 8 == 0
        )
    }

    private mutating func text() -> String { self.mutator.pick(Self.texts) }

    /// As wide as it travels.
    private mutating func small() -> Int { Int(UInt32(truncatingIfNeeded: self.mutator.number())) }

    /// Not before 1970: such a message is refused.
    private mutating func moment() -> Timestamp? {
        guard self.mutator.number().isMultiple(of: 2) else { return nil }
        return Timestamp(milliseconds: Int64(self.mutator.number() >> 1))
    }
}
