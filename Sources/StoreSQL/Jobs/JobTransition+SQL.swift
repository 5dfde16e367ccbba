import PushModel
package import StoreKit

/// The SQL of each change of a job's state.
extension JobTransition {
    /// A job that waits for its start, for the condition of an index.
    package static let scheduled = "state = \(Job.State.scheduled.number)"
    /// A job that ended otherwise than completed, for the condition of an index.
    package static let failed = "state > \(Job.State.completed.number)"

    /// The statement.
    ///
    /// Its first parameter is the job's number; each case documents the others.
    package var sql: String { Self.statements[self] ?? "" }

    // Made once: they stand in the cache of prepared statements under their text.
    private static let statements = Dictionary(
        uniqueKeysWithValues: Self.allCases.map { ($0, "UPDATE job SET \($0.assignment) \($0.condition)") }
    )

    /// Where it may be made: the job by its number, as it must be.
    fileprivate var condition: String { "WHERE sequence = ?1 AND \(self.circumstances)" }

    /// In which states a job must be, and how: a condition on `job`, with parameters of some.
    var circumstances: String {
        let from = Set(self.steps.map(\.from.number)).sorted().map(String.init).joined(separator: ", ")
        return "state IN (\(from)) \(self.restriction)"
    }

    fileprivate var assignment: String {
        switch self {
        case .start:
            // ?2 now, ?3 a wall clock without lateness, behind the new message: a job that starts late has less time left, or none.
            """
            state = \(Job.State.queued.number), message = \(NewMessage.number),
                ends = ?2 + CASE WHEN starts_at > ?3 THEN expires - starts_at WHEN expires > ?3 THEN expires - ?3 ELSE 0 END
            """
        case .page:
            // ?2 message, ?3 wall clock, ?4 whether these are the last pages.
            """
            state = \(Job.State.running.number), started = coalesce(started, ?3), fanned_out = ?4,
                message = CASE WHEN ?4 = 1 THEN NULL ELSE message END
            """
        case .fanOut:
            // ?2 message, ?3 wall clock, ?4 to ?6 the only batch, ?7 the message of that batch.
            """
            state = \(Job.State.running.number), fanned_out = 1, started = ?3, inline_pns = ?4, inline_to = ?5,
                inline_size = ?6, message = ?7
            """
        case .findNoTarget:
            // ?2 message, ?3 wall clock.
            "state = \(Job.State.completed.number), fanned_out = 1, message = NULL, started = ?3, finished = ?3"
        case .acceptAll, .acceptAllAtHint:
            // ?2 wall clock; at the hint ?3 service, ?4 devices, ?5 message, ?6 the job's id.
            "state = \(Job.State.completed.number), finished = ?2"
        case .complete:
            // ?2 wall clock, ?3 now. Expired too where workers saw that its time was over before anybody else did.
            """
            state = CASE
                    WHEN state = \(Job.State.cancelling.number) THEN \(Job.State.cancelled.number)
                    WHEN state = \(Job.State.expiring.number) THEN \(Job.State.expired.number)
                    WHEN ends <= ?3 AND EXISTS (SELECT 1 FROM outcome WHERE outcome.job = ?1 AND outcome.expired > 0)
                        THEN \(Job.State.expired.number)
                    ELSE \(Job.State.completed.number) END,
                stopped = NULL, finished = ?2
            """
        case .abandon:
            // ?2 wall clock, ?3 reason.
            "state = \(Job.State.abandoned.number), reason = ?3, fanned_out = 1, message = NULL, finished = ?2"
        case .cancel, .expire:
            // ?2 now.
            """
            state = \(self == .cancel ? Job.State.cancelling.number : Job.State.expiring.number), fanned_out = 1, message = NULL,
                stopped = ?2
            """
        case .finishRegister:
            // ?2 state, ?3 reason, ?4 result, ?5 wall clock. Handles are in its work no longer.
            """
            state = ?2, reason = ?3, result = ?4, fanned_out = 1, message = NULL, stopped = NULL,
                started = coalesce(started, ?5), finished = ?5, work = \(RegisterWork.withoutHandles)
            """
        case .reopenForBatch:
            "state = \(Job.State.running.number), finished = NULL"
        case .reopenRegister:
            // ?2 its dead letter, behind the new message.
            """
            state = \(Job.State.queued.number), reason = NULL, result = NULL, finished = NULL, fanned_out = 0,
                message = \(NewMessage.number), work = (SELECT work FROM dead WHERE id = ?2)
            """
        case .reopenSend:
            // ?2 state, behind the new message.
            "state = ?2, reason = NULL, finished = NULL, fanned_out = 0, message = \(NewMessage.number)"
        }
    }

    private var restriction: String {
        switch self {
        case .page: "AND message = ?2 AND fanned_out = 0"
        case .fanOut, .findNoTarget: "AND message = ?2"
        case .acceptAllAtHint:
            // The row is found by its number, and not by its id.
            "AND CASE WHEN id = ?6 THEN 1 ELSE 0 END = 1 AND inline_pns = ?3 AND inline_size = ?4 AND message = ?5 AND stopped IS NULL"
        case .complete:
            """
            AND fanned_out = 1 AND inline_pns IS NULL
                AND NOT EXISTS (SELECT 1 FROM batch WHERE batch.job = job.sequence AND batch.open = 1)
            """
        case .abandon: "AND inline_pns IS NULL"
        case .finishRegister: "AND kind = \(JobKind.register.number)"
        case .reopenSend: "AND fanned_out = 1"
        case .start, .acceptAll, .cancel, .expire, .reopenForBatch, .reopenRegister: ""
        }
    }
}

/// A change of many jobs' states in one statement, for PostgreSQL alone.
package struct JobTransitions {
    private let text: String

    /// - Parameters:
    ///   - transition: The change.
    ///   - varying: The parameters of its ``StoreKit/JobTransition/sql`` that each job has its own of: these are arrays.
    package init(_ transition: JobTransition, varying: Set<Int>) {
        let numbers = varying.sorted()
        let columns = numbers.map { "p\($0)" }.joined(separator: ", ")
        let arrays = numbers.map { "?\($0)" }.joined(separator: ", ")
        func ofEach(_ part: String) -> String {
            numbers.reduce(part) { $0.replacing("?\($1)", with: "given.p\($1)") }
        }
        self.text = """
            UPDATE job SET \(ofEach(transition.assignment)) FROM unnest(\(arrays)) AS given(\(columns))
            \(ofEach(transition.condition))
            """
    }

    /// - Returns: The statement, with its parameters in their order.
    package func statement(_ values: [SQLValue]) -> SQLStatement { SQLStatement(self.text, values: values) }
}
