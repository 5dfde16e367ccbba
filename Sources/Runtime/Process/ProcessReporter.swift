import Broker
import Foundation
import NIOConcurrencyHelpers
import PushModel
import PushServices
import ServiceLifecycle

/// Says every few seconds how this process is, to those that show it.
///
/// A report that is lost is followed by the next one.
final class ProcessReporter: Service {
    /// Where what is reported comes from.
    struct Sources {
        /// nil = the process takes no messages from the queues.
        var work: (@Sendable () -> [AppID: Int])?
        var breakers: (@Sendable () -> [ProcessReport.Breaker])?
        var refusals: (@Sendable () -> [ProcessReport.Refusal])?
        var endings: [@Sendable () -> [CredentialWatch.Ending]] = []
        var port: Int?
    }

    /// Of this run of the process.
    let id = JobID.make().description

    private let role: ProcessRole
    private let broker: any MessageBroker
    private let sources = NIOLockedValueBox(Sources())

    init(role: ProcessRole, broker: any MessageBroker) {
        self.role = role
        self.broker = broker
    }

    /// Adds what is known of the process.
    func tell(_ change: (inout Sources) -> Void) { self.sources.withLockedValue { change(&$0) } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var isDeclared = false
            while !Task.isCancelled {
                if isDeclared {
                    await self.publish(isLast: false)
                } else {
                    // A channel does not outlive a message to an exchange that is not there; `TopologyKeeper` says why there is none.
                    isDeclared = (try? await self.broker.declare(.reportsAlone)) != nil
                    if isDeclared { continue }
                }
                // Cancelled = shutdown: the loop ends.
                try? await Task.sleep(for: ProcessReport.interval)
            }
        }
        await self.publish(isLast: true)
    }

    private func publish(isLast: Bool) async {
        var report = self.report
        report.isLast = isLast
        guard let message = try? OutgoingMessage(report) else { return }
        _ = await self.broker.publish([message], deadline: .seconds(1))
    }

    /// The process as it is now.
    var report: ProcessReport {
        let sources = self.sources.withLockedValue { $0 }
        var report = ProcessReport(
            id: self.id,
            role: self.role.name,
            host: SystemNames.host,
            pid: Int(ProcessInfo.processInfo.processIdentifier),
            version: pushlineVersion
        )
        report.port = sources.port
        report.memory = ProcessMetrics.memory.map { Int(clamping: $0) }
        report.work = sources.work.map { work in
            Dictionary(uniqueKeysWithValues: work().map { ($0.key.name, $0.value) })
        }
        report.breakers = sources.breakers?() ?? []
        report.refusals = sources.refusals?() ?? []
        // Two servers may show one certificate.
        for ending in sources.endings.flatMap({ $0() }).map(ProcessReport.Ending.init)
        where !report.endings.contains(ending) {
            report.endings.append(ending)
        }
        return report
    }
}

extension ProcessReport.Ending {
    fileprivate init(_ ending: CredentialWatch.Ending) {
        self.init(app: ending.app, setting: ending.expiry.setting, end: ending.expiry.end)
    }
}
