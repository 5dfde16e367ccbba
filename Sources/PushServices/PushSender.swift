/// Delivers through one push service with one app's credentials.
package protocol PushSender: Sendable {
    /// Tries the devices that the batch names.
    ///
    /// Retries within are bounded: once with a fresh credential, once on a new connection. All else is the caller's policy.
    ///
    /// - Parameter batch: What to send, and until when.
    /// - Returns: One result for each of ``PushRequest/indexes``, in that order, no later than ``PushRequest/deadline``.
    func send(_ batch: PushRequest) async -> [DeviceResult]

    /// Lets running batches end, then closes connections. Nothing may be sent afterwards.
    func close() async
}
