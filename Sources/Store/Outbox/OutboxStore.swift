package import PushModel

/// The outbox: every published message is one row of it, for 1 to 500 jobs or batches (rules 1, 2 and 15).
///
/// Membership is stored in the member's row, not in the message's: a message is deleted when none of its members is
/// open.
///
///     ready ──published──▶ published ──deferred──▶ deferred ──taken──▶ published …
///       └──────taken by the sweeper──────▲            ▲ a lapsed lease is taken again
///
/// A delivery message is published from its first moment on: it is in flight, and counts for its window. A message of jobs for which
/// its app's window has no room is deferred from its first moment on.
package protocol OutboxStore: Sendable {
    /// Accepts jobs of one app, each on its own, in one transaction: when this returns, those that are
    /// ``JobAcceptance/accepted(_:)`` are durable and will be worked on (rule 15).
    ///
    /// Sends to one tag share a message for each priority, every other job has one of its own; who starts later has none. The caller
    /// publishes the messages, and says so with ``markPublished(_:)``; what it does not publish the sweeper takes a second later. Those
    /// for which their app's window has no room are deferred, and due: the sweeper takes them as it has some (rule 12).
    ///
    /// - Parameters:
    ///   - jobs: At most ``OutboxMessage/maximumMembers``.
    ///   - message: One that this process has opened, and that is not published yet: sends to one tag become its members, where its app
    ///     and priority are theirs, it has fewer members than the most by all of them, and nobody has taken it.
    /// - Returns: What came of each, and the new messages.
    /// - Throws: ``StoreError`` when nothing was accepted.
    func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs

    /// Marks messages as published: each is due again when its queue's lease lapses (rule 1).
    ///
    /// A message whose epoch was raised since is unchanged: it was claimed, deferred or published again.
    func markPublished(_ messages: [OutboxMessage]) async throws

    /// Takes messages that should be at the broker and are probably not: most urgent first, a share for each app, the
    /// longest due first (rule 12).
    ///
    /// Who takes them publishes them; until they are marked they are due again after ``OutboxMessage/grace``. Those that wait for credit
    /// are taken as far as there is some, deferred messages of jobs as far as their app's window has room; devices that are sent to once
    /// more count for the rate limit. Nothing is written while nothing is due.
    ///
    /// - Parameters:
    ///   - queues: The kinds of work.
    ///   - overdue: The time past its due time at which a message is taken although its own process publishes it.
    ///   - limit: The most messages.
    /// - Returns: The messages, under their new epochs.
    /// - Throws: ``StoreError``.
    func takeDue(_ queues: Set<WorkQueue>, overdue: Duration, limit: Int) async throws -> [OutboxMessage]

    /// Defers a message: it is not at the broker any more, and due again after a pause.
    ///
    /// Batches of stopping jobs are closed. While its queue is paused no message is taken, despite its due time.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - epoch: The fencing token; nil = any, unless the message is deferred already and not due yet.
    ///   - deferral: The pause and its reason.
    /// - Returns: Whether it was deferred.
    /// - Throws: ``StoreError``.
    func `defer`(_ message: MessageID, epoch: Int?, _ deferral: Deferral) async throws -> Bool

    /// Counts that the broker has handed a message out again (rule 5).
    ///
    /// - Returns: How often it was redelivered, over all its publications and the message it was split from, and how many of its
    ///   members are open; nil when it is gone.
    func redelivered(_ message: MessageID) async throws -> (count: Int, members: Int)?

    /// Gives every open member of a message a message of its own, due at once; each inherits the redeliveries.
    func split(_ message: MessageID) async throws
}

extension OutboxStore {
    /// Accepts jobs in messages of their own; see ``accept(_:joining:)``.
    package func accept(_ jobs: [NewJob]) async throws -> AcceptedJobs { try await self.accept(jobs, joining: nil) }
}

extension WorkQueue {
    /// How long a message of the queue may be with the broker and a worker (rule 1).
    package var lease: Duration {
        switch self {
        case .register, .send: .seconds(60)
        case .deliver: .seconds(45 * 60)
        }
    }
}

extension OutboxMessage {
    /// How long a message waits for the process that is about to publish it before the sweeper takes it.
    package static let grace = Duration.seconds(30)

    /// The epoch of a message that the sweeper has taken, when nobody was at it before.
    package static let firstTaking = 1

    /// By how much a claim raises the epoch: a message with an epoch up to ``firstTaking`` was never claimed.
    ///
    /// Only such a one may be peeked at: beside a claim, what was read is old before it is committed.
    package static let claimStep = 2
}
