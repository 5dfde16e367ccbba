import PushModel
import Store

/// The devices of a message that are reached with one of the app's credentials.
struct DeliveryShare: Equatable {
    let credential: CredentialName
    /// The places of its devices in each batch; nil = all of them, as nearly always.
    let devices: [[Int]]?

    /// The shares of a message's batches.
    static func divide(_ batches: [DeliverBatch]) -> [DeliveryShare] {
        guard batches.contains(where: { !$0.devices.credentials.isEmpty }) else {
            return [DeliveryShare(credential: .default, devices: nil)]
        }
        var devices: [CredentialName: [[Int]]] = [:]
        let none = Array(repeating: [Int](), count: batches.count)
        for (batch, content) in batches.enumerated() {
            for index in content.devices.rows.indices {
                devices[content.devices.credentials[index], default: none][batch].append(index)
            }
        }
        return devices.sorted { $0.key < $1.key }.map { DeliveryShare(credential: $0.key, devices: $0.value) }
    }
}

extension BatchOutcome {
    /// Adds the outcome of the same batch's devices that were reached with another credential.
    mutating func add(_ other: BatchOutcome) {
        self.accepted += other.accepted
        self.acceptedRows += other.acceptedRows
        self.failures += other.failures
        self.expired += other.expired
        self.cancelled += other.cancelled
        self.retries += other.retries
        self.deadHandles += other.deadHandles
        // A breaker's reason tells an operator more than that of some devices.
        if self.retryReason?.cause == nil { self.retryReason = other.retryReason ?? self.retryReason }
        self.at = min(self.at, other.at)
    }
}
