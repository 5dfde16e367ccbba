import Dispatch
package import Logging
import Metrics
import NIOConcurrencyHelpers
package import PushModel
import PushlineMetrics

/// Counts sign-ins that failed: in metrics, and in one notice a minute as long as there are any.
package final class SignInFailures: Sendable {
    package enum Reason: String, Sendable {
        /// Name or password is wrong.
        case password
        /// No such key, or a revoked one.
        case key
        /// A token of the app's own that is not to be believed, or names nobody who may sign in.
        case token
    }

    private struct Counts {
        var wrong = 0
        var turnedAway = 0
    }

    private let counts = NIOLockedValueBox(Counts())
    private let queue = DispatchQueue(label: "pushline.signin.failures")
    private let interval: Duration
    private let logger: Logger

    /// - Parameters:
    ///   - interval: Between two notices.
    ///   - logger: For the notice.
    package init(interval: Duration = .seconds(60), logger: Logger) {
        self.interval = interval
        self.logger = logger
    }

    /// Counts a sign-in that was wrong.
    ///
    /// - Parameters:
    ///   - reason: The kind of failure.
    ///   - app: A declared app: its id becomes a label.
    package func count(_ reason: Reason, app: AppID) {
        MetricDescription.signInFailures.counter([.app: app.name, .reason: reason.rawValue]).increment()
        self.note { $0.wrong += 1 }
    }

    /// Counts a sign-in that was rejected unchecked, because others went first.
    package func countTurnedAway(app: AppID) {
        MetricDescription.signInTurnedAway.counter([.app: app.name]).increment()
        self.note { $0.turnedAway += 1 }
    }

    private func note(_ change: (inout Counts) -> Void) {
        let isFirst = self.counts.withLockedValue { counts in
            let isFirst = counts.wrong + counts.turnedAway == 0
            change(&counts)
            return isFirst
        }
        guard isFirst else { return }
        self.queue.asyncAfter(deadline: .now() + self.interval.inSeconds) { self.report() }
    }

    private func report() {
        let counts = self.counts.withLockedValue { counts in
            defer { counts = Counts() }
            return counts
        }
        // Without names: somebody may have typed a password into the wrong field.
        self.logger.notice(
            "Sign-ins failed within the last minute",
            metadata: ["signin.failed": "\(counts.wrong)", "signin.turned.away": "\(counts.turnedAway)"]
        )
    }
}
