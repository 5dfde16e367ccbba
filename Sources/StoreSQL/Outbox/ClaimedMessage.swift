package import PushModel
package import Store
package import StoreKit

/// A message whose fan-out has a step to commit.
///
/// Rows are held in one order, by all that end jobs too: jobs before their message, and sums last.
package struct ClaimedMessage: Sendable {
    package let claim: FanOutClaim
    package let clock: StoreClock
    package let rows: any StepRows.Type

    package init(_ claim: FanOutClaim, clock: StoreClock, rows: any StepRows.Type) {
        (self.claim, self.clock, self.rows) = (claim, clock, rows)
    }

    package var number: Int64 { self.claim.message.id.number }
    package var priority: Priority { self.claim.message.priority }

    // MARK: Reading

    /// Reads how many members it has, while the claim is the latest; which of some jobs are its members and may be fanned out; the app's
    /// rate limits; and so many numbers of new messages.
    package func reads(jobs: [Int64], for transition: JobTransition, messages: Int) -> [SQLStatement] {
        let states = Set(transition.steps.map(\.from.number)).sorted().map(String.init).joined(separator: ", ")
        return [
            "SELECT app, open FROM message WHERE id = \(self.number) AND epoch = \(self.claim.message.epoch)",
            """
            SELECT sequence FROM job WHERE sequence IN (\(numbers: jobs)) AND message = \(self.number)
                AND state IN (\(raw: states))
            """,
            RateLimitRows.read(of: "SELECT app FROM message WHERE id = \(self.number)"), self.rows.numbers(messages),
        ]
    }

    /// What ``reads(jobs:for:messages:)`` gives.
    package struct Found {
        /// The app's number.
        package let app: Int64
        package let open: Int
        package let members: Set<Int64>
        package let limits: RateLimitRows
        private var numbers: ArraySlice<Int64>

        fileprivate init(_ message: SQLRow, _ members: [SQLRow], _ limits: RateLimitRows, _ numbers: [SQLRow]) throws {
            (self.app, self.open, self.limits) = (try message["app"], try message["open"], limits)
            self.members = Set(try members.map { try $0["sequence"] })
            self.numbers = try numbers.map { try $0["number"] as Int64 }[...]
        }

        /// The number of another new message.
        package mutating func nextNumber() throws -> Int64 {
            guard let number = self.numbers.popFirst() else {
                throw StoreError.tooFewNumbers
            }
            return number
        }
    }

    /// Takes it from the answers; nil if the claim is not the latest any more.
    package func found(_ answers: inout ArraySlice<[SQLRow]>) throws -> Found? {
        let (messages, members) = (answers.removeFirst(), answers.removeFirst())
        let limits = try RateLimitRows(answers.removeFirst(), now: self.clock.now)
        let numbers = answers.removeFirst()
        return try messages.first.map { try Found($0, members, limits, numbers) }
    }

    // MARK: Writing

    /// Some of its members leave it, of so many that were open when it was read: whoever has joined or left it since has changed that.
    package func leave(_ members: Int, of open: Int) -> SQLStatement {
        guard members < open else {
            let end: SQLStatement = """
                DELETE FROM message WHERE id = \(self.number) AND epoch = \(self.claim.message.epoch) AND open = \(open)
                """
            return end.expecting(1)
        }
        return FanOutTable.renewal(of: self.claim, leaving: (members, of: open), at: self.clock.now).expecting(1)
    }

    /// A message as whoever publishes it has it.
    package func message(_ number: Int64, in queue: WorkQueue) -> OutboxMessage {
        OutboxMessage(
            id: MessageID(number: number),
            app: self.claim.message.app,
            queue: queue,
            priority: self.priority
        )
    }
}

extension NewMessage {
    /// A delivery message that its process is about to publish.
    package init(
        deliveryAt pns: PushService,
        app: Int64,
        _ priority: Priority,
        members: Int,
        size: Int,
        jobs: ClosedRange<Int64>,
        now: Int64
    ) {
        self.init(
            queue: .deliver(pns),
            app: app,
            priority: priority.rank,
            state: .published,
            due: now + OutboxMessage.grace.milliseconds,
            members: members,
            size: size,
            jobs: jobs
        )
    }
}
