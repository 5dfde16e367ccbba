package import Broker
import Hub
import Logging
import Metrics
import NIOConcurrencyHelpers
import PushModel
import PushServices
import PushlineMetrics

/// The breakers of a worker, one for each credential of an app at a push service, or one for the app's hub over a wire.
final class Breakers: Sendable {
    struct Key: Hashable {
        let app: AppID
        /// nil = the app's hub over a wire, whatever the platform.
        let pns: PushService?
        let credential: CredentialName

        /// The breaker of an app's hub.
        static func hub(of app: AppID) -> Key { Key(app: app, pns: nil, credential: .default) }

        /// For metrics and logs.
        var service: String { self.pns?.rawValue ?? "hub" }
    }

    private struct Service: Hashable {
        let app: AppID
        let pns: PushService
    }

    /// A complaint about refused credentials.
    private struct Rejection {
        /// For the log.
        let words: String
        /// The part of them that is for everybody who sees the app's processes.
        let reason: String
        /// When the first one came since they were taken last.
        let since: Timestamp
        /// Whether it may be the fault of an address that a device chose.
        let isOfAddress: Bool
    }

    private let configuration: Breaker.Configuration
    private let logger: Logger
    private let breakers = NIOLockedValueBox<[Key: Breaker]>([:])
    /// The last complaint about refused credentials, so that it is logged once, and shown.
    private let rejections = NIOLockedValueBox<[Key: Rejection]>([:])
    /// The credentials of apps that have several at a service.
    private let declared = NIOLockedValueBox<[Service: [CredentialName]]>([:])

    init(_ configuration: Breaker.Configuration, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Notes an app's present credentials at a service.
    func declare(_ credentials: [CredentialName], of app: AppID, _ pns: PushService) {
        let areOthers = self.declared.withLockedValue { declared in
            let service = Service(app: app, pns: pns)
            guard credentials.count > 1 || !declared.isEmpty, declared[service] ?? [.default] != credentials else {
                return false
            }
            declared[service] = credentials.count > 1 ? credentials : nil
            return true
        }
        guard areOthers else { return }
        // One that is declared no more is not refused any more.
        self.rejections.withLockedValue { rejections in
            rejections = rejections.filter { key, _ in
                key.app != app || key.pns != pns || credentials.contains(key.credential)
            }
        }
    }

    /// The decision on a message before it waits for a permit, whichever of the app's credentials its devices have.
    ///
    /// Rejected is what no credential could send. Otherwise the devices of a rejected one are carried to the next attempt, and so hold
    /// up nobody: deferred messages would fill the window that the app's credentials share.
    func peek(_ app: AppID, _ pns: PushService) -> Breaker.Permission {
        let credentials = self.declared.withLockedValue { $0[Service(app: app, pns: pns)] } ?? [.default]
        return self.breakers.withLockedValue { breakers in
            if let hub = breakers[.hub(of: app)] { return hub.peek(now: .now) }
            var rejection: (pause: Duration, reason: WaitReason)?
            for credential in credentials {
                let key = Key(app: app, pns: pns, credential: credential)
                let permission = breakers[key]?.peek(now: .now) ?? .free
                guard case .rejected(let pause, let reason) = permission else { return permission }
                if pause < rejection?.pause ?? .seconds(86_400) { rejection = (pause, reason) }
            }
            return rejection.map { .rejected(for: $0.pause, reason: $0.reason) } ?? .free
        }
    }

    /// Asks to send; unless it is rejected, ``record(_:as:_:)`` must follow.
    func enter(_ key: Key) -> Breaker.Permission {
        self.breakers.withLockedValue { $0[key]?.enter(now: .now) ?? .free }
    }

    /// Makes a call of an app's hub over a wire, or of its channels at Apple, that is not a send, as far as the breaker lets it.
    ///
    /// - Parameters:
    ///   - key: The breaker.
    ///   - isQuestion: Whether it only asks. What a hub answers then says nothing about sends, only that it gives no answer does:
    ///     a rule that may send need not be one that may ask.
    ///   - call: The call.
    /// - Returns: What it returns.
    /// - Throws: ``HubIsResting`` where it is not made; what it throws, of which the breaker counts what the hub said or did not say.
    func through<Value>(
        _ key: Key,
        isQuestion: Bool = false,
        _ call: () async throws -> Value
    ) async throws -> Value {
        let permission = self.enter(key)
        if case .rejected(let pause, let reason) = permission { throw HubIsResting(pause: pause, reason: reason) }
        var said: [DeviceResult] = []
        defer { _ = self.record(SendStatistics(said, of: key.pns, key.credential), as: permission, key) }
        do {
            let value = try await call()
            said = [.accepted]
            return value
        } catch let error as HubError {
            let saysNothing = isQuestion && (error.status != nil || error.kind == .misconfigured)
            if !saysNothing { said = [DeviceResult(error)] }
            throw error
        }
    }

    /// Those that are open.
    var open: [ProcessReport.Breaker] {
        let open = self.breakers.withLockedValue { $0.filter { $0.value.isOpen } }
        return open.sorted { $0.key.order < $1.key.order }.map { key, breaker in
            ProcessReport.Breaker(
                app: key.app,
                service: key.service,
                credential: key.credential.named?.name,
                reason: breaker.reason.text
            )
        }
    }

    /// The credentials that were refused when they were used last.
    ///
    /// That an address refused them which a device chose proves nothing, until the breaker opens.
    var refused: [ProcessReport.Refusal] {
        let open = self.breakers.withLockedValue { Set($0.filter { $0.value.isOpen }.keys) }
        let rejections = self.rejections.withLockedValue { $0 }
        let refused = rejections.filter { !$0.value.isOfAddress || open.contains($0.key) }
        return refused.sorted { $0.key.order < $1.key.order }.map { key, rejection in
            ProcessReport.Refusal(
                app: key.app,
                service: key.service,
                credential: key.credential.named?.name,
                reason: rejection.reason,
                since: rejection.since
            )
        }
    }

    /// Records the results of a send.
    ///
    /// - Returns: Whether the tokens that these results call bad are to be doubted.
    func record(_ statistics: SendStatistics, as permission: Breaker.Permission, _ key: Key) -> Bool {
        self.note(statistics, of: key)
        let (transition, areDoubted) = self.breakers.withLockedValue { breakers in
            // Names come from messages: breakers without failures are dropped before they fill the memory.
            if breakers[key] == nil, breakers.count >= 10_000 { breakers = breakers.filter { $0.value.isOpen } }
            var breaker = breakers[key] ?? Breaker(self.configuration(of: key))
            let wasInDoubt = breaker.doubtsTokens
            let transition = breaker.record(statistics, as: permission, now: .now)
            let areDoubted = statistics.dead > 0 && (wasInDoubt || breaker.isFlood(statistics))
            breakers[key] = breaker
            return (transition, areDoubted)
        }
        guard let transition else { return areDoubted }
        // Added to, not set: beyond the bound on series several apps share one.
        let open = MetricDescription.breakersOpen.meter([.service: key.service, .app: key.app.name])
        var metadata = key.metadata
        switch transition {
        case .opened(let cause, let reason):
            open.increment(by: 1)
            MetricDescription.breakersOpened
                .counter([.service: key.service, .app: key.app.name, .cause: cause.rawValue]).increment()
            metadata["reason"] = "\(reason.text)"
            self.logger.warning("The circuit breaker opened: the app's messages wait", metadata: metadata)
        case .reopened(let reason):
            metadata["reason"] = "\(reason.text)"
            self.logger.warning("The circuit breaker stays open, for another cause than before", metadata: metadata)
        case .closed:
            open.decrement(by: 1)
            self.logger.notice("The circuit breaker closed: the app's messages go out again", metadata: metadata)
        }
        return areDoubted
    }

    private func configuration(of key: Key) -> Breaker.Configuration {
        var configuration = self.configuration
        if key.pns == nil { configuration.failures = configuration.failedCalls }
        return configuration
    }

    /// Logs once that an app's credentials are refused, and once that they work again: an operator must act.
    private func note(_ statistics: SendStatistics, of key: Key) {
        guard statistics.rejection != nil || statistics.answered > 0 else { return }
        // With its sentence: one fault may follow another with the same word.
        let words = statistics.rejection.map { rejection in
            [rejection, statistics.rejectionDetail].compactMap { $0 }.joined(separator: "; ")
        }
        let last = self.rejections.withLockedValue { rejections in
            let last = rejections[key]
            // As with breakers: names come from messages.
            if words != nil, rejections.count >= 10_000 { rejections = [:] }
            rejections[key] = words.map { words in
                Rejection(
                    words: words,
                    reason: statistics.rejection ?? words,
                    since: last?.since ?? .now,
                    isOfAddress: !statistics.failedAt.isEmpty
                )
            }
            return last
        }
        guard last?.words != words else { return }
        let metadata = key.metadata
        if let words {
            let reason: Logger.Metadata = ["reason": "\(words)"]
            self.logger.error(
                "The push service rejects the app's credentials; its messages wait: correct the credential files",
                metadata: metadata.merging(reason) { $1 }
            )
        } else {
            self.logger.notice("The push service accepts the app's credentials again", metadata: metadata)
        }
    }
}

extension Breakers.Key {
    /// For lists.
    fileprivate var order: (String, String, String) { (self.app.name, self.service, self.credential.named?.name ?? "") }

    /// For logs.
    fileprivate var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = ["app": "\(self.app)", "service": "\(self.service)"]
        if let name = self.credential.named { metadata["credential"] = "\(name)" }
        return metadata
    }
}

/// What is not called now: a hub over a wire or Apple's channels, where the breaker is open, or where the call's turn has not come.
struct HubIsResting: Error {
    let pause: Duration
    let reason: WaitReason
}

extension DeliveryWorker {
    /// The breakers that are open.
    package var openBreakers: [ProcessReport.Breaker] { self.breakers.open }

    /// The credentials that were refused when they were used last.
    package var refusedCredentials: [ProcessReport.Refusal] { self.breakers.refused }
}
