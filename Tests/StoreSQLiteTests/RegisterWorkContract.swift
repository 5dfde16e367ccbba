import Foundation
import GRDB
import PushModel
import Store
import Testing

@testable import StoreSQLite

/// A register job that is final knows no handle any more: whom it belongs to may want it forgotten.
struct RegisterWorkContract {
    private let keep: TemporaryStore
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }

    private static let secret = "5ec7e75ec7e7"

    init() throws {
        self.keep = try TemporaryStore()
        self.scenario = Scenario(store: self.keep.store, time: self.keep.time)
    }

    static let requests: [RegisterRequest] = [
        .upsert(.random(), .init(pns: .apns, handle: Handle(stored: secret), tags: [])),
        .issue(candidate: .random(), handles: Handle.lookupForms(of: secret.uppercased())),
    ]

    private func accept(_ request: RegisterRequest) async throws -> Job {
        let new = NewJob(
            app: .default,
            user: try UserName("ann"),
            work: .register(request),
            lifetime: .seconds(86_400)
        )
        guard case .accepted(let job) = try await self.store.accept(new) else { throw Unexpected("not accepted") }
        return job
    }

    /// Where the secret stands in the store, of the tables of jobs and dead messages.
    private func places() async throws -> [String] {
        try await self.keep.store.pool.read { database in
            try ["job", "dead"].flatMap { table in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table)").flatMap { row in
                    row.filter { "\($0.1)".lowercased().contains(Self.secret) }.map { "\(table).\($0.0)" }
                }
            }
        }
    }

    @Test(arguments: requests) func whatIsDoneIsForgotten(request: RegisterRequest) async throws {
        let job = try await self.accept(request)
        #expect(try await self.places() == ["job.work"])
        _ = try await self.store.finishRegister(job.id, result: .done)
        #expect(try await self.places() == [])
        // It is still shown.
        let done = try #require(try await self.store.job(job.id, app: .default))
        #expect(done.state == .completed)
        #expect(done.work.kind == .register)
        // A message that comes again finds nothing to do.
        #expect(try await self.store.registerJob(job.id) == nil)
    }

    @Test(arguments: requests) func soIsWhatWasRefusedStoppedOrLate(request: RegisterRequest) async throws {
        let refused = try await self.accept(request)
        _ = try await self.store.finishRegister(refused.id, result: .refused("no"))
        let cancelled = try await self.accept(request)
        _ = try await self.store.cancel(cancelled.id, app: .default)
        _ = try await self.accept(request)
        #expect(try await self.places() == ["job.work"])
        self.keep.time.advance(.seconds(86_401))
        _ = try await self.store.perform(.expireJobs(lease: .seconds(60)), limit: 10)
        #expect(try await self.places() == [])
    }

    private func bury(_ job: Job) async throws -> DeadLetter {
        try await self.store.deadLetter(
            DeadMessage(queue: "q", type: "register", messageID: "\(job.id)", app: .default, reason: "r", body: [1])
        )
        return try #require(try await self.store.deadLetters(app: .default, cursor: nil, limit: 1).items.first)
    }

    @Test(arguments: requests) func aDeadOneIsReplayedWithItsHandle(request: RegisterRequest) async throws {
        let job = try await self.accept(request)
        let letter = try await self.bury(job)
        #expect(try await self.places() == ["dead.work"])
        #expect(letter.obstacle == nil)
        #expect(try await self.store.replay(deadLetter: letter.id, app: .default) == .begun(job: job.id, devices: nil))
        #expect(try await self.places() == ["job.work"])
        #expect(try await self.store.registerJob(job.id)?.work == .register(request))
        _ = try await self.store.finishRegister(job.id, result: .done)
        #expect(try await self.places() == [])
    }

    @Test func aDeadOneThatNobodyReplaysIsForgottenToo() async throws {
        let letter = try await self.bury(try await self.accept(Self.requests[0]))
        self.keep.time.advance(.seconds(86_400))
        // Its time is over: nobody can bring it back.
        guard case .refused = try await self.store.replay(deadLetter: letter.id, app: .default) else {
            throw Unexpected("it was replayed")
        }
        self.keep.time.advance(.seconds(86_400))
        _ = try await self.store.perform(.expireRegistrations, limit: 10)
        #expect(try await self.places() == [])
    }

    /// A wall clock that was set ahead makes it no blank registration.
    @Test func whatIsForgottenIsNotReplayed() async throws {
        let letter = try await self.bury(try await self.accept(Self.requests[0]))
        try await self.keep.store.pool.write { try $0.execute(sql: "UPDATE dead SET work = NULL") }
        #expect(
            try await self.store.replay(deadLetter: letter.id, app: .default)
                == .refused("its handle was removed")
        )
    }
}

/// What the tables of an older version held.
struct OlderTablesTests {
    @Test func whatShouldNotBeThereGoes() async throws {
        let keep = try TemporaryStore()
        let path = keep.folder.appendingPathComponent("old.sqlite").path
        let queue = try DatabaseQueue(path: path)
        try Schema.migrator.migrate(queue, upTo: "19 unfinished jobs")
        try await queue.write { database in
            try database.execute(
                sql: """
                    INSERT INTO app(number, name) VALUES (1, 'default');
                    INSERT INTO tag_name(number, app, name)
                        VALUES (1, 1, 'from:ann'), (2, 1, 'FROM:bob'), (3, 1, 'news'), (4, 1, 'from:bob'), (5, 1, 'fromage');
                    INSERT INTO registration(row, app, id, pns, handle, user, state, version, updated, tags) VALUES
                        (1, 1, 'own', 1, 'h1', 'ann', 1, 1, 1, '[1,3]'), (2, 1, 'foreign', 1, 'h2', 'ann', 1, 1, 1, '[2,4]'),
                        (3, 1, 'both', 1, 'h3', 'bob', 1, 1, 1, '[1,3,4,5]'), (4, 1, 'nobodys', 1, 'h4', NULL, 1, 1, 1, '[1]'),
                        (5, 1, 'other', 1, 'h5', 'cid', 1, 1, 1, '[3]'), (6, 1, 'unused', NULL, NULL, NULL, 0, 1, 1, NULL);
                    INSERT INTO tagged(tag, pns, row)
                        SELECT value, 1, row FROM registration, json_each(tags) WHERE tags IS NOT NULL;
                    INSERT INTO job(id, app, kind, priority, platforms, state, work, expires, accepted, finished) VALUES
                        (x'01', 1, 1, 1, 0, 10, '{"register":{"_0":{"upsert":{"_1":{"handle":"secret"}}}}}', 9, 9, 9),
                        (x'02', 1, 1, 1, 0, 1, '{"register":{"_0":{"upsert":{"_1":{"handle":"open"}}}}}', 9, 9, NULL);
                    """
            )
            try HeldHandle.fill(database, database.handleDigest())
        }
        try queue.close()
        let store = try SQLiteStore(configuration: .init(path: path), source: keep.time)
        #expect(try await store.checkFile() == [])
        let found = try await store.registrations(RegistrationQuery(app: .default)).items
        #expect(
            found.map { "\($0.id) \($0.tags.map(\.name))" } == [
                #"own ["from:ann", "news", "username:ann"]"#, #"foreign ["username:ann"]"#,
                #"both ["from:bob", "fromage", "news", "username:bob"]"#, "nobodys []",
                #"other ["news", "username:cid"]"#,
            ]
        )
        let work = try await store.pool.read { try String.fetchAll($0, sql: "SELECT work FROM job ORDER BY sequence") }
        #expect(work.map { $0.contains("secret") || $0.contains("open") } == [false, true])
    }
}
