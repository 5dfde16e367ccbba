package import PushModel

/// The outbox: every message that is published stands in it as one row, for 1 to 500 jobs or batches (rules 1, 2 and 15).
///
/// Who is a member says the member's own row, not the message's: a message is gone when none of its members is open. Its life:
///
///     ready ──published──▶ published ──deferred──▶ deferred ──taken──▶ published …
///       └──────taken by the sweeper──────▲            ▲ a lapsed lease is taken again
///
/// A delivery message is published from its first moment on: it is in flight, and counts for its window.
package protocol OutboxStore: Sendable {
    /// Accepts jobs of one app, each on its own, in one transaction: when this returns, those that are
    /// ``JobAcceptance/accepted(_:)`` are durable and will be worked on (rule 15).
    ///
    /// Sends to one tag share a message for each priority, every other job has one of its own; who starts later has none. The caller
    /// publishes the messages, and says so with ``markPublished(_:)``; what it does not publish the sweeper takes a second later.
    ///
    /// - Parameters:
    ///   - jobs: At most ``OutboxMessage/maximumMembers``.
    ///   - message: One that this process has opened and not published yet: sends to one tag become its members, where its app and
    ///     priority are theirs, it has capacity for all of them, and nobody has taken it.
    /// - Returns: What came of each, and the new messages.
    /// - Throws: ``StoreError`` when nothing was accepted.
    func accept(_ jobs: [NewJob], joining message: MessageID?) async throws -> AcceptedJobs

    /// Says that these messages are at the broker: each is due again when its queue's lease lapses (rule 1).
    ///
    /// One whose epoch was raised since is left as it is: it was claimed, deferred or published anew.
    func markPublished(_ messages: [OutboxMessage]) async throws

    /// Takes messages that should be at the broker and seem not to be: most urgent first, of each app its share, the longest due first
    /// (rule 12).
    ///
    /// Who takes them publishes them; until they are marked they are due again after ``OutboxMessage/grace``. Those that wait for credit
    /// are taken as far as there is some; devices that are sent to once more count for the rate limit. Nothing is written while
    /// nothing is due.
    ///
    /// - Parameters:
    ///   - queues: Which kinds of work.
    ///   - overdue: How long past its due time a message must be whose own process publishes it.
    ///   - limit: The most messages.
    /// - Returns: The messages, under their new epochs.
    /// - Throws: ``StoreError``.
    func takeDue(_ queues: Set<WorkQueue>, overdue: Duration, limit: Int) async throws -> [OutboxMessage]

    /// Defers a message: it is not at the broker any more, and due again after a pause.
    ///
    /// Batches of jobs that are being stopped are closed. While its queue is paused no message is taken, whatever its due time.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - epoch: Only under this fencing token; nil = whoever has it, unless it is deferred already and not due yet.
    ///   - deferral: How long, and what for.
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
    /// The services whose credit it waits for: from its due time on it is taken when one of them has some.
    package var blockedOn: Set<PushService>
    /// Whether it waits as a campaign that has begun there, behind first pages.
    package var isContinued: Bool
    /// What it waits for, for whoever asks; at most 200 characters are kept.
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

/// What came of accepting several jobs.
package struct AcceptedJobs: Sendable {
    /// What came of each, in their order.
    package var answers: [JobAcceptance]
    /// New ones, to be published.
    package var messages: [OutboxMessage]

    package init(answers: [JobAcceptance] = [], messages: [OutboxMessage] = []) {
        self.answers = answers
        self.messages = messages
    }
}

/// What came of asking the store to accept a job.
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
