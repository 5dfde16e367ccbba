package import Broker
package import Logging
import NIOConcurrencyHelpers
import ServiceLifecycle

/// The processes that have said something of themselves of late, for people.
///
/// A process is gone when it has been silent for a while in which others were heard; this one hears itself, by way of the broker. While
/// nobody is heard, nothing is known of those who were.
package final class ProcessWatch: Service {
    package enum State: String, Sendable, CaseIterable {
        case running
        /// It ended without a word, or cannot reach the broker.
        case gone
        /// Nobody is heard, or was until a moment ago.
        case unknown
    }

    /// A process as it is known.
    package struct Seen: Sendable {
        package let report: ProcessReport
        package let state: State
        /// Since its last report.
        package let silence: Duration
    }

    private struct Entry {
        var report: ProcessReport
        var heard: ContinuousClock.Instant
    }

    private struct Heard {
        var entries: [String: Entry] = [:]
        /// When a report came last, and since when they came without a gap.
        var last: ContinuousClock.Instant?
        var since: ContinuousClock.Instant?
    }

    static let goneAfter = Duration.seconds(15)
    static let forgottenAfter = Duration.seconds(30)
    /// Two reports of this process were missed.
    static let gap = ProcessReport.interval * 2
    static let capacity = 500

    private let own: String
    private let broker: any MessageBroker
    private let logger: Logger
    private let heard = NIOLockedValueBox(Heard())

    /// - Parameters:
    ///   - own: The id in this process's own reports.
    ///   - broker: Where the others' come from.
    ///   - logger: For debugging.
    package init(own: String, broker: any MessageBroker, logger: Logger) {
        self.own = own
        self.broker = broker
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            let queue = QueueName.newEventQueue()
            while !Task.isCancelled {
                do {
                    try await self.listen(queue)
                } catch is CancellationError {
                    return
                } catch {
                    self.logger.debug("Reports of processes are not received", metadata: ["error": "\(error)"])
                }
                // Cancelled = shutdown: the loop ends.
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func listen(_ queue: String) async throws {
        try await self.broker.declare(.reports(to: queue))
        try await self.broker.consume(queue: queue, prefetch: 100) { subscription in
            while let delivery = try await subscription.next() {
                if let report = ProcessReport(delivery.body) { self.hear(report) }
                await subscription.acknowledge([delivery])
            }
        }
    }

    /// Notes a report.
    func hear(_ report: ProcessReport, at now: ContinuousClock.Instant = .now) {
        self.heard.withLockedValue { heard in
            if heard.last.map({ $0.duration(to: now) > Self.gap }) ?? true { heard.since = now }
            heard.last = now
            guard !report.isLast else {
                heard.entries[report.id] = nil
                return
            }
            if heard.entries[report.id] == nil, heard.entries.count >= Self.capacity,
                let silent = heard.entries.min(by: { $0.value.heard < $1.value.heard })
            {
                heard.entries[silent.key] = nil
            }
            heard.entries[report.id] = Entry(report: report, heard: now)
        }
    }

    /// The processes by role, host and number, and whether these are all that run: others may not have been heard yet.
    package func processes(now: ContinuousClock.Instant = .now) -> (seen: [Seen], areAll: Bool) {
        let (entries, since) = self.heard.withLockedValue { heard in
            let isHearing = heard.last.map { $0.duration(to: now) <= Self.gap } ?? false
            let since = isHearing ? heard.since : nil
            if let since {
                heard.entries = heard.entries.filter {
                    max($0.value.heard, since).duration(to: now) < Self.forgottenAfter
                }
            }
            return (Array(heard.entries.values), since)
        }
        let isSure = since.map { $0.duration(to: now) >= Self.goneAfter } ?? false
        let seen = entries.map { entry in
            let silence = entry.heard.duration(to: now)
            let isHeard = silence < Self.goneAfter || entry.report.id == self.own
            return Seen(report: entry.report, state: isHeard ? .running : isSure ? .gone : .unknown, silence: silence)
        }
        return (seen.sorted { $0.order < $1.order }, isSure)
    }
}

extension ProcessWatch.Seen {
    fileprivate var order: (String, String, Int, String) {
        (self.report.role, self.report.host, self.report.pid, self.report.id)
    }
}
