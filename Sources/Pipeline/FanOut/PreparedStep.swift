import Hub
import PushModel
import Store

/// A step of a fan-out, and its messages to publish once it is committed.
struct PreparedStep {
    /// A send that the step answers.
    struct Send {
        let sequence: Int64
        let job: JobID
        let waiter: String?
    }

    let step: FanOutStep
    /// The contents of its delivery messages, in order.
    let messages: [[PreparedDelivery]]
    /// The sends that have batches by it, or no target.
    let sends: [Send]
    /// The claim as it is behind the step.
    let claim: FanOutClaim

    /// The committed messages, to be published.
    func deliveries(_ written: FanOutWritten) -> [(row: OutboxMessage, batches: [PreparedDelivery])] {
        let lost = Set(self.sends.filter { written.lost.contains($0.sequence) }.map(\.job))
        return zip(written.deliveries, self.messages).compactMap { row, batches in
            guard let row else { return nil }
            return (row, lost.isEmpty ? batches : batches.filter { !lost.contains($0.key.job) })
        }
    }

    /// The jobs whose answers were written.
    func answered(_ written: FanOutWritten) -> [Advance.Answered] {
        // A page without devices does not end a send with more pages.
        if case .pages(let pages) = self.step, pages.batches.isEmpty, !written.isDone { return [] }
        return self.sends.compactMap { send in
            guard let waiter = send.waiter, !written.lost.contains(send.sequence) else { return nil }
            return Advance.Answered(job: send.job, waiter: waiter)
        }
    }
}
