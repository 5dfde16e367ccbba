import NIOConcurrencyHelpers

/// The last fault of each thing, so that the log says a lasting one once.
final class FaultLog: Sendable {
    private let faults = NIOLockedValueBox<[String: String]>([:])

    /// Notes a fault.
    ///
    /// - Parameters:
    ///   - fault: What is wrong.
    ///   - thing: What has the fault.
    /// - Returns: Whether it is another one than before.
    func isNew(_ fault: String, of thing: String) -> Bool {
        self.faults.withLockedValue { $0.updateValue(fault, forKey: thing) != fault }
    }

    /// Notes that a thing has no fault.
    func clear(_ thing: String) {
        self.faults.withLockedValue { faults in if !faults.isEmpty { faults[thing] = nil } }
    }
}
