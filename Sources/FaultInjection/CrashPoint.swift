/// A place between two steps at which a process can be made to die as by `kill -9`.
///
/// For `deploy/chaos` and tests: `PUSHLINE_CRASH_AT=deliver.sent:3` ends the process at the third visit. Only debug
/// builds have it; in others ``reach()`` does nothing.
package enum CrashPoint: String, CaseIterable, Sendable {
    // Any process that writes the store.
    /// A group's changes are made, its commit is not; where they are sent together with it, nothing is.
    case storeCommitting = "store.committing"
    /// The commit is durable and no caller has heard of it.
    case storeCommitted = "store.committed"

    // Publishers: the API, send workers, sweepers.
    /// Messages are at the broker and not marked as published.
    case outboxPublished = "outbox.published"
    /// They are marked as published.
    case outboxMarked = "outbox.marked"
    /// A message is deferred in its row, and not acknowledged.
    case outboxDeferred = "outbox.deferred"
    /// A redelivery is counted, and not worked on.
    case outboxRedelivered = "outbox.redelivered"
    /// The members of a message have messages of their own, and theirs is not acknowledged.
    case outboxSplit = "outbox.split"

    // The API.
    /// A job is accepted, and neither answered nor published.
    case apiAccepted = "api.accepted"

    // The register worker.
    case registerTaken = "register.taken"
    /// A part of a user's removal is committed.
    case registerSliced = "register.sliced"
    /// The hub has applied the change and the job is not final.
    case registerApplied = "register.applied"
    /// The job is final, its message is not acknowledged.
    case registerFinished = "register.finished"

    // The send worker.
    case sendTaken = "send.taken"
    /// The message is claimed, or its first step is written; it is not acknowledged.
    case sendClaimed = "send.claimed"
    /// The message is acknowledged; its row still has the claim's lease.
    case sendAcknowledged = "send.acknowledged"
    /// Sends or pages are read, nothing is written.
    case fanOutRead = "fanout.read"
    /// Batches and their messages are rows, and not at the broker.
    case fanOutCommitted = "fanout.committed"

    // The delivery worker.
    case deliverTaken = "deliver.taken"
    /// The batches are open, nothing is sent.
    case deliverBegun = "deliver.begun"
    /// A call of a hub over a wire is about to be made.
    case hubSubmitting = "hub.submitting"
    /// The hub has answered, and the answer is not written.
    case hubAnswered = "hub.answered"
    /// The push service has answered, nothing is recorded.
    case deliverSent = "deliver.sent"
    /// The outcomes stand, the message is not acknowledged.
    case deliverRecorded = "deliver.recorded"

    // Sweepers.
    /// Due messages are taken and not published.
    case sweepTaken = "sweep.taken"
    case sweepHousekeeping = "sweep.housekeeping"

    // Dead letters.
    /// A message is in the dead queue, and not acknowledged where it was.
    case deadPublished = "dead.published"
    /// A dead letter is in the store, and not acknowledged.
    case deadStored = "dead.stored"

    /// Ends the process here if it was asked to.
    @inline(__always)
    package func reach() {
        #if DEBUG
        PlannedCrash.shared?.pass(self)
        #endif
    }
}
