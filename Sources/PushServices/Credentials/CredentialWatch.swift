package import Logging
import Metrics
import NIOConcurrencyHelpers
package import PushModel
import PushlineMetrics

/// Shows how long credentials are good for, and warns once a day of those that end soon.
package final class CredentialWatch: Sendable {
    private struct Key: Hashable {
        let app: AppID?
        let setting: String
    }

    private struct Entry {
        let gauge: Gauge
        var warned: ContinuousClock.Instant?
        var end: CredentialExpiry
        var checked: ContinuousClock.Instant
    }

    /// A credential that somebody should see to.
    package struct Ending: Sendable {
        /// nil = it is the process's own.
        package let app: AppID?
        package let expiry: CredentialExpiry
    }

    /// What was not checked for so long is not in use any more.
    private static let lifetime = Duration.seconds(60)

    private let logger: Logger
    private let entries = NIOLockedValueBox<[Key: Entry]>([:])

    package init(logger: Logger) { self.logger = logger }

    /// - Parameters:
    ///   - end: The credential and its expiry.
    ///   - app: The app; nil = the process itself.
    package func check(_ end: CredentialExpiry, of app: AppID?) {
        let now = Timestamp.now
        let mustWarn = self.entries.withLockedValue { entries in
            let key = Key(app: app, setting: end.setting)
            var entry = entries[key] ?? Entry(gauge: Self.gauge(end.setting, app), end: end, checked: .now)
            (entry.end, entry.checked) = (end, .now)
            entry.gauge.record(Double(end.end.milliseconds) / 1000)
            let isDue = entry.warned.map { $0.duration(to: .now) >= .seconds(86_400) } ?? true
            let mustWarn = isDue && end.isNear(from: now)
            if mustWarn { entry.warned = .now }
            entries[key] = entry
            return mustWarn
        }
        guard mustWarn else { return }
        var metadata: Logger.Metadata = ["setting": "\(end.setting)", "end": "\(end.end.iso8601)"]
        if let app { metadata["app"] = "\(app)" }
        self.logger.warning("A credential \(end.words(from: now)): replace it", metadata: metadata)
    }

    /// Those in use that end soon or have ended, the first first.
    package var near: [Ending] {
        let entries = self.entries.withLockedValue { $0 }
        return entries.filter { $0.value.checked.duration(to: .now) < Self.lifetime && $0.value.end.isNear() }
            .map { Ending(app: $0.key.app, expiry: $0.value.end) }
            .sorted { $0.expiry.end < $1.expiry.end }
    }

    private static func gauge(_ setting: String, _ app: AppID?) -> Gauge {
        MetricDescription.credentialExpiry.gauge([.app: app?.name ?? "", .credential: setting])
    }
}
