import Broker
import PushModel

/// Sends the event that makes a waiting process read a job (rule 16).
///
/// A lost event costs time, nothing else.
struct EventSender: Sendable {
    let broker: any MessageBroker

    func notify(_ waiter: String?, of job: JobID) async {
        if let waiter { await self.notify([(job, waiter)]) }
    }

    func notify(_ jobs: [(job: JobID, waiter: String)]) async {
        guard !jobs.isEmpty else { return }
        let events = jobs.map { OutgoingMessage(eventFor: $0.job, waiter: $0.waiter) }
        // The waiter also looks by itself, so a failure here is not a fault.
        _ = await self.broker.publish(events, deadline: .seconds(1))
    }
}
