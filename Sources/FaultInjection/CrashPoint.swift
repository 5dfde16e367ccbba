/// A place between two steps at which a process can be made to die, as `kill -9` would have it.
///
/// For `deploy/chaos` and tests: `PUSHLINE_CRASH_AT=deliver.sent:3` ends the process the third time that it comes by. Compiled
/// into debug builds alone; in others ``reach()`` is nothing.
package enum CrashPoint: String, CaseIterable, Sendable {
    // Any process that writes the store.
    /// A group's changes are made, its commit is not.
    case storeCommitting = "store.committing"
    /// The commit is durable, nobody has heard of it.
    case storeCommitted = "store.committed"

    // The API.
    /// A job is accepted: neither answered nor published.
    case apiAccepted = "api.accepted"
    /// Jobs are at the broker, and not marked so.
    case apiPublished = "api.published"

    // The register worker.
    case registerTaken = "register.taken"
    /// The hub has done it, the job does not say so.
    case registerApplied = "register.applied"
    /// The job is final, its message is not acknowledged.
    case registerFinished = "register.finished"

    // The send worker.
    case sendTaken = "send.taken"
    /// The job is claimed, its message is not acknowledged.
    case sendClaimed = "send.claimed"
    /// What is left of the message is the claim's lease.
    case sendAcknowledged = "send.acknowledged"
    /// The audience is read, nothing is written.
    case planRead = "plan.read"
    /// Batches are rows, and not at the broker.
    case planCommitted = "plan.committed"
    /// Batches are at the broker, and not marked so.
    case planPublished = "plan.published"
    case planMarked = "plan.marked"
    /// Small sends are read together, without a claim.
    case bundleRead = "bundle.read"
    /// Their parcels are rows, and not at the broker.
    case bundleCommitted = "bundle.committed"
    /// Their parcels are at the broker, and not marked so.
    case bundlePublished = "bundle.published"

    // The delivery worker; of batches and parcels alike.
    case deliverTaken = "deliver.taken"
    /// The batch is open, nothing is sent.
    case deliverBegun = "deliver.begun"
    /// The push service has answered, nothing is recorded.
    case deliverSent = "deliver.sent"
    /// The outcome stands, the message is not acknowledged.
    case deliverRecorded = "deliver.recorded"

    // Whoever sweeps.
    /// What is due is read, and not published.
    case sweepRead = "sweep.read"
    /// It is published, and not marked so.
    case sweepPublished = "sweep.published"
    case sweepHousekeeping = "sweep.housekeeping"

    // Dead letters.
    /// A message is in the dead queue, and not acknowledged where it was.
    case deadPublished = "dead.published"
    /// A dead message is in the store, and not acknowledged.
    case deadBuried = "dead.buried"

    /// Ends the process here if it was asked to.
    @inline(__always)
    package func reach() {
        #if DEBUG
        PlannedCrash.shared?.pass(self)
        #endif
    }
}
