package import Broker
package import Logging
import Metrics
import PushlineMetrics
import ServiceLifecycle

/// Reports how many messages the broker has moved from the dead queue to the parking queue, because their readers crashed.
package struct ParkingWatch: Service {
    private static let interval = Duration.seconds(10)

    private let broker: any MessageBroker
    private let logger: Logger

    /// - Parameters:
    ///   - broker: Has the parking queue.
    ///   - logger: For an error when there are more than before.
    package init(broker: any MessageBroker, logger: Logger) {
        self.broker = broker
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown { await self.watch() }
    }

    private func watch() async {
        let gauge = MetricDescription.parkingMessages.gauge()
        var known = 0
        while !Task.isCancelled {
            // An unreachable broker is reported elsewhere; the gauge keeps its value.
            if let count = try? await self.broker.depth(of: QueueName.parking).ready {
                gauge.record(count)
                if count > known {
                    self.logger.error(
                        "Messages are in the parking queue: they crashed the processes that read the dead queue; inspect them there",
                        metadata: ["queue": "\(QueueName.parking)", "messages": "\(count)"]
                    )
                }
                known = count
            }
            // Cancelled = shutdown: the loop ends.
            try? await Task.sleep(for: Self.interval)
        }
    }
}
