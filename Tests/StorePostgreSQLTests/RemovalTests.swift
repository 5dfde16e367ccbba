import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// A user is removed over PostgreSQL by the statements by which one is in SQLite.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct RemovalTests {
    private let keep: StoreAdministration
    private let user: UserName

    init() throws {
        self.keep = try StoreAdministration(StoreOptions())
        self.user = try UserName("zoewasher", .folded)
    }

    private func send(to audience: String) throws -> Job.Work {
        .send(
            SendRequest(
                audience: try TagExpression(parsing: audience, .folded),
                platforms: [],
                content: .message(.init(title: "t", body: "b"))
            )
        )
    }

    private func upsert(for user: UserName?) -> Job.Work {
        let upsert = RegisterRequest.Upsert(
            pns: .apns,
            handle: Handle(stored: "aa"),
            tags: [],
            onBehalf: user.map { .init(of: $0) }
        )
        return .register(.upsert(.random(), upsert))
    }

    /// In how many rows of each table the name stands.
    private func mentions() async throws -> [String: Int] {
        var found: [String: Int] = [:]
        let tables: SQLStatement = """
            SELECT CAST(table_name AS text) AS name FROM information_schema.tables WHERE table_schema = current_schema()
            """
        for table in try await self.keep.engine.rows(tables) {
            let name: String = try table["name"]
            let count = try await self.keep.number(
                "SELECT count(*) FROM \(raw: name) AS t WHERE CAST(t AS text) LIKE '%zoewasher%'"
            )
            if let count, count > 0 { found[name] = count }
        }
        return found
    }

    @Test func theNameGoesFromAllTables() async throws {
        let name = self.user.key.text
        // Sends by and to the user, to others too, and changes on the user's behalf; one of these is a dead letter.
        try await self.keep.insert(1, self.send(to: "t"), user: self.user, message: 1)
        try await self.keep.insertMessage(.deliver(.apns), members: 1, jobs: 1...1)
        try await self.keep.run(
            "UPDATE job SET fanned_out = 1, message = NULL",
            "INSERT INTO batch(job, pns, page, attempt, from_id, to_id, size, open, message) VALUES (1, 1, 0, 0, 0, 9, 3, 1, 1)"
        )
        try await self.keep.insert(2, self.send(to: "username:bob || username:zoewasher"), .queued, message: 2)
        try await self.keep.insertMessage(.send, members: 1, jobs: 2...2)
        try await self.keep.insert(3, self.upsert(for: self.user), .queued, message: 3)
        try await self.keep.insertMessage(.register, members: 1, jobs: 3...3)
        try await self.keep.insert(4, self.upsert(for: nil), .queued, user: self.user, message: 4)
        try await self.keep.insertMessage(.register, members: 1, jobs: 4...4)
        try await self.keep.deadLetter(3)
        try await self.keep.register("handle", user: self.user)
        try await self.keep.run(
            "INSERT INTO tombstone(app, id, \"user\", version, at) VALUES (1, 'gone', \(name), 1, 1)",
            "INSERT INTO content(app, id, owner, media_type, bytes, created) VALUES (1, 'c', \(name), 'image/png', '', 1)",
            """
            INSERT INTO rich(app, id, sender, addressee, message, rich_type, secure, created) VALUES (1, 1, \(name), \(name), 'm', 'r', 0, 1)
            """,
            "INSERT INTO idempotency(app, caller, route, key, hash, job, created) VALUES (1, \(self.user.caller), 'r', 'k', '', 1, 1)",
            "INSERT INTO pause(queue, app, by, since) VALUES ('send', 1, \(self.user.caller), 1)",
            "INSERT INTO tag_name(app, name) VALUES (1, \("from:" + name))"
        )
        #expect(try await self.mentions().count >= 9)

        try await self.keep.insert(9, .register(.removeUser(nil, withAccount: false)), .queued, message: 9)
        let engine = self.keep.engine
        let table = RegistrationTable(app: 1, clock: engine.clock, digest: engine.handles)
        _ = try await engine.perform(table.begin((self.user, withAccount: false), job: 9, act: nil))
        var result: RegisterResult?
        while result == nil { result = try await engine.removeUser(by: 9) }
        #expect(result == .done)
        #expect(try await self.mentions() == [:])
        let states = try await engine.rows("SELECT sequence, state FROM job ORDER BY sequence").map {
            (try $0["sequence"] as Int, try Job.State(number: $0["state"]))
        }
        #expect(states.map(\.1) == [.cancelled, .queued, .abandoned, .abandoned, .queued])
        #expect(try await self.keep.number("SELECT cancelled FROM outcome WHERE job = 1") == 3)
        #expect(try await self.keep.number("SELECT count(*) FROM registration") == 0)
        // The send to bob and the removal go on.
        #expect(try await self.keep.number("SELECT CAST(sum(unfinished) AS bigint) FROM backlog") == 2)
        #expect(try await engine.removeUser(by: 9) == .done)
    }
}
