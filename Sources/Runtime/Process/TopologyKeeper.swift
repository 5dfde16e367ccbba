import Broker
import Logging
import ServiceLifecycle

/// Declares the pipeline's queues as soon as the broker can be reached.
///
/// A process starts and stays up without a broker (rule 19).
struct TopologyKeeper: Service {
    let broker: any MessageBroker
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            var last: BrokerError?
            while !Task.isCancelled {
                do {
                    try await self.broker.declare(.pushline)
                    self.logger.info("The queues are declared")
                    break
                } catch let error as BrokerError {
                    // Logged once for each kind of failure, not at every attempt.
                    if error != last { self.report(error) }
                    last = error
                } catch {
                    self.logger.warning("The queues cannot be declared", metadata: ["error": "\(error)"])
                }
                // Cancelled = shutdown: the loop ends.
                try? await Task.sleep(for: .seconds(2))
            }
        }
        try await gracefulShutdown()
    }

    private func report(_ error: BrokerError) {
        guard error.code == .mismatch else {
            self.logger.warning(
                "The broker is unreachable; work waits in the store",
                metadata: ["error": "\(error)"]
            )
            return
        }
        self.logger.error(
            "A queue exists with other arguments: remove it, or give this installation a virtual host of its own",
            metadata: ["error": "\(error)"]
        )
    }
}
