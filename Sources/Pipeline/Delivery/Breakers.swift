import Logging
import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushServices
import PushlineMetrics

/// The breakers of a delivery worker, one for each app and push service.
final class Breakers: Sendable {
    private struct Key: Hashable {
        let app: AppID
        let pns: PushService
    }

    private let configuration: Breaker.Configuration
    private let logger: Logger
    private let breakers = NIOLockedValueBox<[Key: Breaker]>([:])
    /// What was said last of credentials that do not work; nothing is said twice.
    private let refusals = NIOLockedValueBox<[Key: String]>([:])

    init(_ configuration: Breaker.Configuration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// What is to be done with a message before it waits for a permit.
    func look(_ app: AppID, _ pns: PushService) -> Breaker.Passage {
        self.breakers.withLockedValue { $0[Key(app: app, pns: pns)]?.look(now: .now) ?? .free }
    }

    /// Asks to send; unless it is refused, ``record(_:as:_:_:)`` must follow.
    func enter(_ app: AppID, _ pns: PushService) -> Breaker.Passage {
        self.breakers.withLockedValue { $0[Key(app: app, pns: pns)]?.enter(now: .now) ?? .free }
    }

    /// Takes note of what the results of a send say.
    ///
    /// - Returns: Whether the tokens that these results call bad are not to be believed.
    func record(_ observation: Observation, as passage: Breaker.Passage, _ app: AppID, _ pns: PushService) -> Bool {
        let key = Key(app: app, pns: pns)
        self.note(observation, of: key)
        let (transition, areDoubted) = self.breakers.withLockedValue { breakers in
            // Names come from messages: those of which nothing is known are forgotten before they fill the memory.
            if breakers[key] == nil, breakers.count >= 10_000 { breakers = breakers.filter { $0.value.isOpen } }
            var breaker = breakers[key] ?? Breaker(self.configuration)
            let wasInDoubt = breaker.doubtsTokens
            let transition = breaker.record(observation, as: passage, now: .now)
            let areDoubted = observation.dead > 0 && (wasInDoubt || breaker.isFlood(observation))
            breakers[key] = breaker
            return (transition, areDoubted)
        }
        guard let transition else { return areDoubted }
        // Added to, not set: beyond the bound on series several apps share one.
        let open = MetricDescription.breakersOpen.meter([.service: pns.rawValue, .app: app.name])
        var metadata: Logger.Metadata = ["app": "\(app)", "push.service": "\(pns.rawValue)"]
        switch transition {
        case .opened(let cause, let reason):
            open.increment(by: 1)
            MetricDescription.breakersOpened
                .counter([.service: pns.rawValue, .app: app.name, .cause: cause.rawValue]).increment()
            metadata["reason"] = "\(reason)"
            self.logger.warning("The breaker opens: the app's messages wait", metadata: metadata)
        case .closed:
            open.decrement(by: 1)
            self.logger.info("The breaker closes: the app's messages go out again", metadata: metadata)
        }
        return areDoubted
    }

    /// Says once that an app's credentials do not work, and once that they do again: somebody has to do something.
    private func note(_ observation: Observation, of key: Key) {
        guard observation.refusal != nil || observation.answered > 0 else { return }
        let last = self.refusals.withLockedValue { refusals in
            // As with breakers: names come from messages.
            if observation.refusal != nil, refusals.count >= 10_000 { refusals = [:] }
            defer { refusals[key] = observation.refusal }
            return refusals[key]
        }
        guard last != observation.refusal else { return }
        let metadata: Logger.Metadata = ["app": "\(key.app)", "push.service": "\(key.pns.rawValue)"]
        if let refusal = observation.refusal {
            let reason: Logger.Metadata = ["reason": "\(refusal)"]
            self.logger.error(
                "The app's credentials do not work, and its messages there wait: put the right files in place",
                metadata: metadata.merging(reason) { $1 }
            )
        } else {
            self.logger.notice("The app's credentials work again", metadata: metadata)
        }
    }
}
