import Synchronization
package import Testing

/// Of tests of deadlines and of what comes first: one that fails where the machine stood meanwhile has found nothing out, and is run
/// again.
///
/// What fails though the machine has not stood fails at once, and what fails each time fails in the end.
package struct UndisturbedTrait: TestTrait, SuiteTrait, TestScoping {
    /// How often a test is run at most.
    private static let attempts = 5

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        for _ in 1..<Self.attempts {
            let attempt = Attempt()
            do {
                try await IssueHandlingTrait.filterIssues { !$0.isFailure || attempt.isFailed() }
                    .provideScope(for: test, testCase: testCase, performing: function)
            } catch {
                guard !Task.isCancelled, !attempt.isFailed() else { throw error }
            }
            guard attempt.isVoid else { return }
            print("\(test.name) is run again: the machine stood for \(Standstill.total - attempt.before)")
        }
        try await function()
    }
}

private final class Attempt: Sendable {
    private enum Outcome { case passed, failed, void }

    let before = Standstill.total
    private let outcome = Mutex(Outcome.passed)

    var isVoid: Bool { self.outcome.withLock { $0 == .void } }

    /// Whether something that is not as it should be counts.
    func isFailed() -> Bool {
        self.outcome.withLock { outcome in
            if outcome == .passed { outcome = Standstill.total > self.before ? .void : .failed }
            return outcome == .failed
        }
    }
}

extension Trait where Self == UndisturbedTrait {
    /// It is run again where the machine stood.
    package static var undisturbed: Self { Self() }
}
