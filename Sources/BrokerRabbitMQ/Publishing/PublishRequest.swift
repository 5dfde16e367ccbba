import Broker
import NIOConcurrencyHelpers

/// One call of `publish`: its messages, and what became of each so far.
final class PublishRequest: Sendable {
    private struct Progress {
        var results: [PublishResult?]
        var missing: Int
        var continuation: CheckedContinuation<[PublishResult], Never>?
    }

    let messages: [OutgoingMessage]
    let deadline: ContinuousClock.Instant
    private let progress: NIOLockedValueBox<Progress>

    init(
        _ messages: [OutgoingMessage],
        deadline: ContinuousClock.Instant,
        _ continuation: CheckedContinuation<[PublishResult], Never>
    ) {
        self.messages = messages
        self.deadline = deadline
        self.progress = NIOLockedValueBox(
            Progress(
                results: Array(repeating: nil, count: messages.count),
                missing: messages.count,
                continuation: continuation
            )
        )
    }

    /// Whether the caller has its answer; what is not sent yet need not be.
    var isAnswered: Bool { self.progress.withLockedValue { $0.missing == 0 } }

    /// Notes a result, and answers the caller when it was the last one.
    ///
    /// - Parameters:
    ///   - index: Which message.
    ///   - result: What became of it; the first word counts.
    /// - Returns: Whether the request is answered now.
    func finish(_ index: Int, _ result: PublishResult) -> Bool {
        self.change { progress in
            guard progress.results[index] == nil else { return }
            progress.results[index] = result
            progress.missing -= 1
        }
    }

    /// Answers the caller now: what has no result yet failed.
    ///
    /// - Returns: How many messages had none.
    @discardableResult
    func fail(_ error: BrokerError) -> Int {
        var failed = 0
        _ = self.change { progress in
            failed = progress.missing
            for index in progress.results.indices where progress.results[index] == nil {
                progress.results[index] = .failed(error)
            }
            progress.missing = 0
        }
        return failed
    }

    private func change(_ body: (inout Progress) -> Void) -> Bool {
        let answer = self.progress.withLockedValue {
            progress -> (CheckedContinuation<[PublishResult], Never>, [PublishResult])? in
            body(&progress)
            guard progress.missing == 0, let continuation = progress.continuation else { return nil }
            progress.continuation = nil
            return (continuation, progress.results.compactMap { $0 })
        }
        guard let (continuation, results) = answer else { return false }
        continuation.resume(returning: results)
        return true
    }
}
