package import PushModel

/// The outbox: every published message is one row of it, for 1 to 500 jobs or batches (rules 1, 2 and 15).
///
/// Membership is stored in the member's row, not in the message's: a message is deleted when none of its members is
/// open.
///
///     ready ──published──▶ published ──deferred──▶ deferred ──taken──▶ published …
///       └──────taken by the sweeper──────▲            ▲ a lapsed lease is taken again
///
/// A delivery message is published from its first moment on: it is in flight, and counts for its window.
package protocol OutboxStore: Sendable {
    /// Accepts jobs of one app, each on its own, in one transaction: when this returns, those that are
    /// ``JobAcceptance/accepted(_:)`` are durable and will be worked on (rule 15).
    ///
    /// Sends to one tag share a message for each priority, every other job has its own; a scheduled job has none until
    /// it starts. The caller publishes the messages and marks them with ``markPublished(_:)``; the sweeper takes the
    /// others a second later.
    ///
    /// - Parameters:
    ///   - jobs: At most ``OutboxMessage/maximumMembers``.
    ///   - message: A message opened by this process and not published yet: sends to one tag become its members, if its
    ///     app and priority are theirs, it has capacity for all of them, and it is not taken.
    /// - Returns: The result for each, and the new messages.
    /// - Throws: ``StoreError`` when nothing was accepted.
    func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs

    /// Marks messages as published: each is due again when its queue's lease lapses (rule 1).
    ///
    /// A message whose epoch was raised since is unchanged: it was claimed, deferred or published again.
    func markPublished(_ messages: [OutboxMessage]) async throws

    /// Takes messages that should be at the broker and are probably not: most urgent first, a share for each app, the
    /// longest due first (rule 12).
    ///
    /// The caller publishes them; until they are marked they are due again after ``OutboxMessage/grace``. Messages that
    /// wait for credit are taken as far as there is some; devices that are retried count towards the rate limit.
    /// Without due messages nothing is written.
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
}

/// How a message is deferred.
package struct Deferral: Sendable, Equatable {
    /// How long it is not due.
    package var pause: Duration
    /// The services whose credit it waits for: from its due time on it is taken when one of them has credit.
    package var blockedOn: Set<PushService>
    /// Whether it waits as a campaign that has begun there, behind first pages.
    package var isContinued: Bool
    /// The reason of the wait, for display; at most 200 characters are kept.
    package var reason: String?

    package init(
        pause: Duration = .zero,
        blockedOn: Set<PushService> = [],
        isContinued: Bool = false,
        reason: String? = nil
    ) {
        self.pause = pause
        self.blockedOn = blockedOn
        self.isContinued = isContinued
        self.reason = reason
    }
}

/// The result of accepting several jobs.
package struct AcceptedJobs: Sendable {
    /// The result for each job, in order.
    package var answers: [JobAcceptance]
    /// New ones, to be published.
    package var messages: [OutboxMessage]

    package init(answers: [JobAcceptance] = [], messages: [OutboxMessage] = []) {
        self.answers = answers
        self.messages = messages
    }
}

/// The result of accepting a job.
package enum JobAcceptance: Sendable, Equatable {
    /// It is new and durable.
    indirect case accepted(Job)
    /// The same request was accepted before, as that job.
    case repeated(JobID)
    /// The idempotency key was used for another request.
    case keyReused
    /// The backlog is full: the limit on unfinished or scheduled jobs is reached.
    case backlogFull
}
