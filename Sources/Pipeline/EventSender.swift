import Broker
import PushModel

/// Sends the event that makes a waiting process read a job (rule 16).
///
/// A lost event costs time, nothing else.
struct EventSender: Sendable {
    let broker: any MessageBroker

    func notify(_ waiter: String?, of job: JobID) async {
        guard let waiter else { return }
        // The waiter also looks by itself, so a failure here is no fault.
        _ = await self.broker.publish([OutgoingMessage(eventFor: job, waiter: waiter)], deadline: .seconds(1))
    }
}
