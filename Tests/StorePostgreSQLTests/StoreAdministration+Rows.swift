import PushModel
import Store
import StoreKit
import StoreSQL
import Testing

@testable import StorePostgreSQL

/// Rows of jobs and messages, as the driver's own paths would write them.
extension StoreAdministration {
    func run(_ writes: SQLStatement...) async throws {
        try await self.engine.perform(SQLTransaction(SQLDecision(writing: writes, giving: ())))
    }

    /// The only value of a row; nil where there is none.
    func number(_ query: SQLStatement) async throws -> Int? {
        try await self.engine.rows("SELECT (\(query)) AS value").first?["value"]
    }

    func text(_ query: SQLStatement) async throws -> String? {
        try await self.engine.rows("SELECT (\(query)) AS value").first?["value"]
    }

    /// A job, unfinished and the member of a message that has not been published.
    ///
    /// - Returns: Its id.
    @discardableResult
    func insert(
        _ job: Int64,
        _ work: Job.Work? = nil,
        _ state: Job.State = .running,
        user: UserName? = nil,
        message: Int64?
    ) async throws -> JobID {
        let (id, text) = (JobID.make(), try work.map { try StoredJSON.text(work: $0) } ?? "{}")
        let ends = self.engine.clock.now + 86_400_000
        try await self.run(
            "INSERT INTO app(name) VALUES ('default') ON CONFLICT DO NOTHING",
            """
            INSERT INTO job(
                sequence, id, app, "user", kind, priority, platforms, state, work, message, expires, ends, accepted, fanned_out)
            SELECT \(job), \(id), number, \(user?.key.text), \((work?.kind ?? .send).number), 1, 0, \(state.number), \(text),
                \(message), \(ends), \(ends), 1, 0 FROM app
            """,
            "UPDATE backlog SET unfinished = unfinished + 1 WHERE slot = 0"
        )
        return id
    }

    func insertMessage(_ queue: WorkQueue, members: Int, jobs: ClosedRange<Int64>) async throws {
        try await self.run(
            """
            INSERT INTO message(app, queue, priority, state, due, open, size, first, last)
            SELECT number, \(queue.number), 1, 0, 1, \(members), 3, \(jobs.lowerBound), \(jobs.upperBound) FROM app
            """
        )
    }

    /// A live registration for native notifications, with a handle of APNs.
    func register(_ handle: String, user: UserName? = nil, tags: [PushModel.Tag] = []) async throws {
        let upsert = RegisterRequest.Upsert(pns: .apns, handle: Handle(stored: handle), tags: tags)
        let job = RegisterJob(app: .default, user: user, sequence: 1)
        #expect(try await self.engine.register(.upsert(.random(), upsert), of: job) == .done)
    }

    func deadLetter(_ message: Int64) async throws {
        try await self.engine.deadLetter(
            IncomingDeadLetter(
                queue: "q",
                type: "deliver",
                messageID: MessageID(number: message).description,
                app: nil,
                reason: "rejected",
                body: []
            )
        )
    }
}
