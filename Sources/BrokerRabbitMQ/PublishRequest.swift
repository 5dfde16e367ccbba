import Broker
import NIOConcurrencyHelpers

/// One call of `publish`: its messages and their results so far.
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

    /// Whether the caller has its answer; unsent messages are then skipped.
    var isAnswered: Bool { self.progress.withLockedValue { $0.missing == 0 } }

    /// Records a result, and answers the caller after the last one.
    ///
    /// - Parameters:
    ///   - index: The message's index.
    ///   - result: The result; the first one counts.
    /// - Returns: Whether the request is answered now.
    func finish(_ index: Int, _ result: PublishResult) -> Bool {
        self.change { progress in
            guard progress.results[index] == nil else { return }
            progress.results[index] = result
            progress.missing -= 1
        }
    }

    /// Answers the caller now: messages without a result have failed.
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
