import NIOCore

/// The state of a batch: requests still to be sent, and the outcomes of the others.
///
/// Used only on the client's event loop.
final class HTTP2Run {
    /// How often a request that the peer refused is sent again.
    private static let maximumRejections: UInt8 = 5

    let batch: HTTP2Exchange
    let interesting: [[UInt8]]
    let sendBy: NIODeadline
    let requestTimeout: TimeAmount
    /// Whether the client has it among those with something to send.
    var isWaiting = false
    /// The number of requests taken in this turn.
    var taken = 0

    private var next = 0
    private var again: [Int] = []
    private var rejections: [UInt8] = []
    /// Set once nothing more may be sent.
    private var withdrawn: HTTP2Outcome.NotProcessed?
    private var outcomes: [HTTP2Outcome]
    private var remaining: Int
    private let completion: ([HTTP2Outcome]) -> Void

    init(_ batch: HTTP2Exchange, now: NIODeadline, completion: @escaping ([HTTP2Outcome]) -> Void) {
        self.batch = batch
        self.interesting = batch.interestingHeaders.map { Array($0.utf8) }
        self.sendBy = now + TimeAmount(rounding: max(.zero, batch.sendBy - .now))
        self.requestTimeout = TimeAmount(rounding: batch.requestTimeout)
        self.outcomes = Array(repeating: .notProcessed(.outOfTime), count: batch.count)
        self.remaining = batch.count
        self.completion = completion
    }

    /// Whether something is still to be sent.
    var hasWork: Bool { self.next < self.batch.count || !self.again.isEmpty }

    /// The next request to send, or nil.
    func take() -> Int? {
        if self.next < self.batch.count {
            defer { self.next += 1 }
            return self.next
        }
        return self.again.popLast()
    }

    /// Records the outcome of a request; the last one completes the batch.
    ///
    /// - Returns: Whether it was the last one.
    func finish(_ index: Int, _ outcome: HTTP2Outcome) -> Bool {
        self.outcomes[index] = outcome
        self.remaining -= 1
        guard self.remaining == 0 else { return false }
        self.completion(self.outcomes)
        return true
    }

    /// Decides about a request that the peer did not process.
    ///
    /// - Returns: nil if it is to be sent again, otherwise its outcome.
    func refuse(_ index: Int, reason: String) -> HTTP2Outcome? {
        if let withdrawn = self.withdrawn { return .notProcessed(withdrawn) }
        if self.rejections.isEmpty { self.rejections = Array(repeating: 0, count: self.batch.count) }
        guard self.rejections[index] < HTTP2Run.maximumRejections else { return .notProcessed(.refused(reason)) }
        self.rejections[index] += 1
        self.again.append(index)
        return nil
    }

    /// Gives back all that was not sent.
    ///
    /// - Returns: Whether that completed the batch.
    func withdraw(_ reason: HTTP2Outcome.NotProcessed) -> Bool {
        self.withdrawn = reason
        while let index = self.take() {
            if self.finish(index, .notProcessed(reason)) { return true }
        }
        return false
    }
}
