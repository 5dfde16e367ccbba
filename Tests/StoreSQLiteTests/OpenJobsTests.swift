import Foundation
import GRDB
import PushModel
import Store
import StoreKit
import Testing

@testable import StoreSQLite

/// The indexes of unfinished jobs, whose conditions name what changes at a job's end alone.
struct OpenJobsTests {
    /// A store as it was when they named the state, with jobs in each of them.
    private static func oldStore(_ path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try Schema.migrator.migrate(queue, upTo: "18 held handles")
        let message = Content.message(Content.Message(body: "b"))
        let send = try StoredJSON.text(work: .send(SendRequest(audience: .tag(Tag("t")), content: message)))
        try queue.write { database in
            try database.execute(sql: "INSERT INTO app(number, name) VALUES (1, 'default')")
            for (index, state) in [0, 1, 2, 3, 4, 10, 11, 12, 13].enumerated() {
                try database.execute(
                    sql: """
                        INSERT INTO job(id, app, kind, priority, platforms, state, work, planned, stopped, expires, accepted,
                            finished, starts_at, ends)
                        VALUES (?, 1, 2, 1, 0, ?, ?, ?, ?, 500, 1, ?, ?, ?)
                        """,
                    arguments: [
                        Data(repeating: UInt8(index + 1), count: 16), state, send, state == 1 ? 0 : 1,
                        [3, 4].contains(state) ? 1 : nil, state >= 10 ? 2 : nil, state == 0 ? 1 << 60 : nil,
                        state == 0 ? nil : 500,
                    ]
                )
            }
            try database.execute(sql: "UPDATE open_jobs SET unfinished = 4, scheduled = 1")
        }
        try queue.close()
    }

    @Test func aStoreOfBeforeIsCarriedOver() async throws {
        let keep = try TemporaryStore()
        let path = keep.folder.appendingPathComponent("old.sqlite").path
        try Self.oldStore(path)
        let store = try SQLiteStore(configuration: .init(path: path), source: keep.time)
        func states(_ rows: String) async throws -> [Int] {
            try await store.pool.read { try Int.fetchAll($0, sql: "SELECT state FROM job \(rows) ORDER BY state") }
        }
        let mayExpire = "INDEXED BY job_ends WHERE finished IS NULL AND stopped IS NULL AND ends > 0"
        #expect(try await states("INDEXED BY job_open WHERE finished IS NULL") == [0, 1, 2, 3, 4])
        #expect(try await states(mayExpire) == [1, 2])
        #expect(try await store.audit(after: 0, limit: 1).faults.filter { $0.contains("are kept as") } == [])
        // The two whose time is over are ended; those that are being stopped are ended as ever.
        keep.time.advance(.seconds(3600))
        #expect(try await store.perform(.expireJobs(lease: .seconds(60)), limit: 10) == 4)
        #expect(try await states(mayExpire) == [])
    }

    /// What the indexes rest on.
    @Test(arguments: ["state = 10", "finished = 1", "stopped = 1", "state = 3"])
    func aCheckFindsAJobWhoseTimesAreNotThoseOfItsState(damage: String) async throws {
        let keep = try TemporaryStore()
        let scenario = Scenario(store: keep.store, time: keep.time)
        let job = try await scenario.accept(scenario.send(to: .tag(Tag("t"))))
        #expect(try await keep.store.audit(after: 0, limit: 10).faults == [])
        try await keep.store.pool.writeWithoutTransaction { try $0.execute(sql: "UPDATE job SET \(damage)") }
        let faults = try await keep.store.audit(after: 0, limit: 10).faults
        #expect(faults.contains { $0.hasPrefix("job \(job.id): 1 of its times") }, "\(faults)")
    }
}
