import OutgoingHTTP

extension DeviceResult {
    /// The result of a request without an answer: one that was never sent is not one that may have been taken.
    init(_ fault: NoAnswer) {
        self =
            fault.isBeforeSending
            ? .retry(after: nil, scope: .sender, counts: false, reason: "no connection: \(fault)", status: nil)
            : .unanswered(reason: fault.description)
    }
}
