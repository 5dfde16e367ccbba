/// Delivers through one push service with one app's credentials.
package protocol PushSender: Sendable {
    /// Sends to the devices named in the batch.
    ///
    /// Retries within are bounded: once with a fresh credential, once on a new connection. Other retries are the
    /// caller's policy.
    ///
    /// - Parameter batch: The request with its deadline.
    /// - Returns: One result for each of ``PushRequest/indexes``, in that order, no later than ``PushRequest/deadline``.
    func send(_ batch: PushRequest) async -> [DeviceResult]

    /// Lets running batches end until a deadline, then closes connections. Nothing may be sent afterwards.
    func close(by deadline: ContinuousClock.Instant) async
}
