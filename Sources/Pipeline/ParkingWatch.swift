package import Broker
package import Logging
import Metrics
import ServiceLifecycle

/// Tells how many messages are parked: the broker took them from the dead queue, for whoever read them ended.
package struct ParkingWatch: Service {
    private static let interval = Duration.seconds(10)

    private let broker: any MessageBroker
    private let logger: Logger

    /// - Parameters:
    ///   - broker: Where they lie.
    ///   - logger: Says that there are more.
    package init(broker: any MessageBroker, logger: Logger) {
        self.broker = broker
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown { await self.watch() }
    }

    private func watch() async {
        let gauge = Gauge(label: "pushline.parking.messages")
        var known = 0
        while !Task.isCancelled {
            // A broker that does not tell is told of elsewhere; the number stays what it was.
            if let count = try? await self.broker.depth(of: QueueName.parking).ready {
                gauge.record(count)
                if count > known {
                    self.logger.error(
                        "Messages are parked, for they ended whoever took them from the dead queue: look at them there",
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
