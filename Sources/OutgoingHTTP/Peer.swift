package import Logging
import Metrics
import NIOConcurrencyHelpers
import PushlineMetrics

/// A kind of server that we are a client of: what stops there is logged and counted.
package final class Peer: Sendable {
    /// The kinds.
    package enum Kind: String, Sendable {
        case apns, fcm, wns, web
        /// The token services of FCM and WNS.
        case token
        /// The keys of apps' own issuers.
        case keys
        /// Azure's hubs.
        case hub
        /// Apple's broadcast channels.
        case channels
        /// What takes our spans.
        case collector
        /// RabbitMQ's management API, which the command line tool alone asks: it has no metrics.
        case management
    }

    /// How far an exchange had come when it stopped.
    package enum Stage: String, Sendable, CaseIterable {
        /// Name, connection and TLS: nothing was sent.
        case connect
        /// The request was on its way, and the answer's head was not there.
        case head
        /// The answer's body, with its end.
        case body
        /// The sender did not come back, whatever it waited for.
        case sender
    }

    private struct Place: Hashable {
        let host: String
        let stage: Stage
    }

    private struct Line {
        var last: ContinuousClock.Instant
        var since = 0
    }

    /// A place that goes on is logged once in this time.
    private static let pause = Duration.seconds(60)
    /// Devices choose hosts, so there is an end to them.
    private static let maximumPlaces = 256

    private let kind: Kind
    private let logger: Logger
    private let counters: [Stage: Counter]
    private let lines = NIOLockedValueBox<[Place: Line]>([:])

    package init(_ kind: Kind, logger: Logger) {
        self.kind = kind
        self.logger = logger
        self.counters = Dictionary(
            uniqueKeysWithValues: Stage.allCases.map { stage in
                (stage, MetricDescription.exchangesStopped.counter([.peer: kind.rawValue, .stage: stage.rawValue]))
            }
        )
    }

    /// Notes that an exchange came to its deadline.
    ///
    /// - Parameters:
    ///   - host: The server.
    ///   - stage: How far it had come.
    package func stopped(at host: String, _ stage: Stage) {
        self.counters[stage]?.increment()
        let place = Place(host: host, stage: stage)
        let now = ContinuousClock.now
        let count = self.lines.withLockedValue { lines -> Int? in
            let count = (lines[place]?.since ?? 0) + 1
            if let line = lines[place], line.last.duration(to: now) < Self.pause {
                lines[place]?.since = count
                return nil
            }
            if lines.count >= Self.maximumPlaces { lines = [:] }
            lines[place] = Line(last: now)
            return count
        }
        guard let count else { return }
        self.logger.warning(
            "A server does not answer in time; what it was asked counts as unanswered, and its connection is closed",
            metadata: [
                "peer": "\(self.kind.rawValue)", "server.address": "\(ForeignText.word(host))",
                "stage": "\(stage.rawValue)", "times": "\(count)",
            ]
        )
    }
}
