import Logging
import Metrics
import OutgoingHTTP
import PushModel
import PushServices
import PushlineMetrics

/// A sender that its caller does not wait for beyond its batch's deadline, whatever it waits for itself.
///
/// Its permit goes to other work then. What it was sending may have arrived, and it is replaced: its connections are closed.
struct WatchedSender: PushSender {
    let sender: any PushSender
    let registry: SenderRegistry
    let watch: DeadlineWatch
    let app: AppID
    let pns: PushService
    let credential: CredentialName
    let logger: Logger

    func send(_ batch: PushRequest) async -> [DeviceResult] {
        let results = await self.watch.run(until: batch.deadline) { await self.sender.send(batch) }
        if let results { return results }
        self.registry.abandon(self.sender)
        let service = self.pns.rawValue
        MetricDescription.exchangesStopped.counter([.peer: service, .stage: "sender"]).increment()
        self.logger.error(
            "A sender did not come back in time; it is replaced, and what it was sending counts as unanswered",
            metadata: [
                "app": "\(self.app)", "service": "\(service)", "credential": "\(self.credential)",
            ]
        )
        return batch.indexes.map { _ in .unanswered(reason: "the sender did not come back in time") }
    }

    func close(by deadline: ContinuousClock.Instant) async { await self.sender.close(by: deadline) }
}
