import OutgoingHTTP

extension DeviceResult {
    /// The result of a request of async-http-client that failed: one that was never sent is not one without an answer.
    init(ofRequest error: any Error) {
        let text = ForeignText.word("\(error)")
        self =
            RequestFailure.isBeforeSending(error)
            ? .retry(after: nil, scope: .sender, counts: false, reason: "no connection: \(text)", status: nil)
            : .unanswered(reason: text)
    }
}
