/// The server processes, by the names of their executables.
package enum ProcessRole: String, Sendable, CaseIterable {
    case api = "pushline-api"
    case hub = "pushline-hub"
    case registerWorker = "pushline-register-worker"
    case sendWorker = "pushline-send-worker"
    case deliveryWorker = "pushline-delivery-worker"

    /// The name in metrics: `api`, `delivery-worker`.
    var name: String { String(self.rawValue.dropFirst("pushline-".count)) }
}
