package import PushModel
package import Store
import StoreKit

/// A message and its open members, by the rows that name it.
struct OutboxMembers {
    let app: AppID
    let queue: WorkQueue
    /// The jobs of a message of another queue than deliveries, for ``JobEndings/abandon(_:reason:)``.
    let jobs: [SQLRow]
    /// The batches of a delivery message.
    let batches: [OpenBatch]
    private let number: Int64
    private let row: SQLRow

    static func reads(of message: Int64) -> [SQLStatement] {
        [
            """
            SELECT app.name, message.id, message.app, message.queue, message.priority, message.redeliveries
            FROM message JOIN app ON app.number = message.app WHERE message.id = \(message)
            """,
            JobEndings.jobs(self.isOpen(in: message)), OpenBatch.ofMessage(message),
        ]
    }

    private static func isOpen(in message: Int64) -> SQLStatement {
        "\(JobTable.isMember(of: message)) AND inline_pns IS NULL"
    }

    /// By what ``reads(of:)`` gives, which it takes from the answers; nil where there is no such message any more.
    init?(_ answers: inout ArraySlice<[SQLRow]>) throws {
        let (messages, jobs, batches) = (answers.removeFirst(), answers.removeFirst(), answers.removeFirst())
        guard let row = messages.first else { return nil }
        self.row = row
        (self.number, self.app) = (try row["id"], try AppID(stored: row["name"]))
        self.queue = try WorkQueue(number: row["queue"])
        self.jobs = jobs
        self.batches = try batches.map { try OpenBatch($0) }
    }

    var count: Int { self.jobs.count + self.batches.count }

    /// Gives every member a message of its own; they inherit the redeliveries.
    func split(_ endings: inout JobEndings) throws {
        for job in self.jobs {
            let job: Int64 = try job["sequence"]
            let member: SQLStatement = """
                UPDATE job SET message = \(raw: NewMessage.number) WHERE sequence = \(job) AND message = \(self.number)
                """
            try self.move(member, of: job, size: 0, &endings)
        }
        for batch in self.batches {
            if batch.isInline { endings.materialize(batch.key.job) }
            let member: SQLStatement = """
                UPDATE batch SET message = \(raw: NewMessage.number)
                WHERE \(batch.key.condition) AND message = \(self.number) AND open = 1
                """
            try self.move(member, of: batch.key.job, size: batch.size, &endings)
        }
    }

    private func move(_ member: SQLStatement, of job: Int64, size: Int, _ endings: inout JobEndings) throws {
        let own = NewMessage(
            queue: self.queue,
            app: try self.row["app"],
            priority: try self.row["priority"],
            // Counted for the rate limit already, and due at once.
            state: .deferred,
            due: endings.now,
            members: 1,
            size: size,
            jobs: job...job,
            redeliveries: try self.row["redeliveries"]
        )
        endings.add(own.insertion, member.expecting(1))
        endings.leave(message: self.number)
    }
}

extension OutboxStore where Self: SQLEngine {
    package func split(_ message: MessageID) async throws {
        let clock = self.clock
        try await self.end(
            SQLTransaction(reading: OutboxMembers.reads(of: message.number)) { answers in
                var (endings, answers) = (JobEndings(clock), answers[...])
                try OutboxMembers(&answers)?.split(&endings)
                return endings.decision(())
            }
        )
    }
}
