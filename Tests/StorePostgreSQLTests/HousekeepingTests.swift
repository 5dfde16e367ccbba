import LogRecorder
import Logging
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// What keeping house needs where several hosts do it: who leads, what time it is, and how far was looked for jobs whose time is over.
@Suite(.enabled(if: TestServer.isThere), .timeLimit(.minutes(5)), .undisturbed) struct HousekeepingTests {
    private let fixture: StoreAdministration
    private var store: PostgreSQLStore { self.fixture.engine }

    init() throws { self.fixture = try StoreAdministration(StoreOptions()) }

    private func owner(_ text: String) throws -> [SQLRow] {
        try TestServer.owner(self.fixture.schema).exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))[0]
            .rows
    }

    /// Waits for a state.
    private func eventually(_ holds: () async throws -> Bool) async throws {
        while try await !holds() { try await Task.sleep(for: .milliseconds(10)) }
    }

    // MARK: Leadership

    /// A host that is cut off leads no more when another does.
    @Test func aLeaseThatLapsedIsAnothers() async throws {
        let first = try #require(try await self.store.lead(as: .sweeper))
        _ = try self.owner("UPDATE leader SET until = clock_timestamp() - interval '1 second'")
        let another = try self.fixture.anotherEngine()
        let second = try #require(try await another.lead(as: .sweeper))
        // Its next renewal finds that.
        try await self.eventually { !first.isHeld }
        #expect(second.isHeld)
        #expect(try await self.store.lead(as: .sweeper) == nil)
    }

    @Test func aLeaseIsPutOffWhileItIsThere() async throws {
        let lease = try #require(try await self.store.lead(as: .sweeper))
        let until = "SELECT CAST(extract(epoch FROM until) * 1000 AS bigint) AS until FROM leader"
        let before: Int64 = try self.owner(until)[0]["until"]
        try await self.eventually { try (self.owner(until)[0]["until"] as Int64) > before }
        #expect(lease.isHeld)
    }

    @Test func oneOfManyTakesARole() async throws {
        let stores = try (0..<4).map { _ in try self.fixture.anotherEngine() }
        let leases = try await withThrowingTaskGroup(of: (any Leadership)?.self) { group in
            for store in stores { group.addTask { try await store.lead(as: .sweeper) } }
            return try await group.reduce(into: [(any Leadership)?]()) { $0.append($1) }
        }
        #expect(leases.compactMap(\.self).count == 1)
    }

    // MARK: Time

    /// The wall clocks of the hosts do not matter.
    @Test func allHostsHaveTheServersClock() async throws {
        let wire = try TestServer.owner(self.fixture.schema)
        func clock(_ time: TestTime) throws -> StoreClock {
            try ServerClock.make(time, wire, until: .now + .seconds(30))
        }
        // What was written is in the future of every server.
        let latest: Int64 = try self.owner("SELECT max(seen) AS seen FROM writer")[0]["seen"]
        let (time, other) = (TestTime(), TestTime())
        other.jump(.seconds(86_400))
        other.advance(.seconds(3600))
        #expect(try clock(time).now == latest)
        #expect(try clock(other).now == latest)
        _ = try self.owner("DELETE FROM writer")
        let server: Int64 = try self.owner(
            "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint) AS now"
        )[0]["now"]
        #expect(try clock(other).now - server < 60_000)
    }

    @Test func aClockThatIsBehindIsSaidOnce() async throws {
        let (log, clock) = (LogRecorder(), self.store.clock)
        let behind = StoreClock(source: clock.source, shift: clock.shift - 10_000)
        let addresses = try TestServer.addresses(.programs, schema: self.fixture.schema)
        let store = try PostgreSQLStore(
            addresses,
            clock: behind,
            deadlines: TestServer.deadlines,
            logger: log.logger(.warning)
        )
        for isBegun in [true, false] {
            let change = isBegun ? PauseChange.begin(.send, app: nil, by: "x") : .end(.send, app: nil)
            #expect(try await store.apply(.pause(change)))
        }
        #expect(log.lines.map(\.fields) == [["seconds": "10"]])
    }

    // MARK: Jobs whose time is over

    /// Final jobs, the first of which was over then.
    private func insertEnded(_ count: Int, from end: Int64) async throws {
        try await self.fixture.run(
            "INSERT INTO app(name) VALUES ('default') ON CONFLICT DO NOTHING",
            """
            INSERT INTO job(sequence, id, app, kind, priority, platforms, state, work, expires, ends, accepted, finished, fanned_out)
            SELECT 1000 + n, decode(md5(CAST(n AS text)), 'hex'), 1, 0, 1, 0, \(raw: "\(Job.State.completed.number)"), '{}', 1, \(end) + n, 1, 1, 1
            FROM generate_series(1, \(raw: "\(count)")) AS n
            """
        )
    }

    private func insertOverdue(_ job: Int64, at end: Int64) async throws {
        try await self.fixture.insert(job, message: nil)
        try await self.fixture.run("UPDATE job SET ends = \(end), fanned_out = 0 WHERE sequence = \(job)")
    }

    private func expire() async throws -> Int {
        try await self.store.perform(.expireJobs, limit: 100).rows
    }

    @Test func anOverdueJobIsFoundBehindMany() async throws {
        let begin = self.store.clock.now - 3_600_000
        try await self.insertEnded(3 * OverduePlace.piece + 10, from: begin)
        try await self.insertOverdue(1, at: begin + Int64(2 * OverduePlace.piece) + 5)
        try await self.insertOverdue(2, at: self.store.clock.now)
        #expect(try await self.expire() == 1)
        #expect(try await self.expire() == 1)
        #expect(try await self.expire() == 0)
        #expect(try await self.fixture.number("SELECT count(*) FROM job WHERE finished IS NULL") == 0)
        // Another process begins where it was looked up to.
        let through = try await self.fixture.number("SELECT through FROM overdue")
        #expect(through ?? 0 > Int(begin) + 2 * OverduePlace.piece)
    }

    /// A commit may come late, and a host's clock be behind.
    @Test func aJobThatAppearsBehindThePlaceIsFound() async throws {
        let begin = self.store.clock.now - 3_600_000
        try await self.insertEnded(OverduePlace.piece, from: begin)
        #expect(try await self.expire() == 0)
        try await self.insertOverdue(1, at: self.store.clock.now - 10_000)
        #expect(try await self.expire() == 0)
        self.fixture.time.advance(.seconds(30))
        #expect(try await self.expire() == 1)
    }

    /// It would be behind the place else.
    @Test func aJobThatStartsBehindItsTimeEnds() async throws {
        try await self.insertEnded(2 * OverduePlace.piece, from: self.store.clock.now - 10 * 86_400_000)
        let start = self.fixture.time.wall.advanced(by: .seconds(60))
        let new = NewJob(
            app: .default,
            work: .register(.delete(.random())),
            lifetime: .seconds(60),
            startsAt: start
        )
        _ = try await self.store.accept([new])
        // Nobody was there to start it.
        self.fixture.time.advance(.seconds(86_400))
        #expect(try await self.expire() == 0)
        #expect(try await self.store.perform(.startScheduled, limit: 10).rows == 1)
        #expect(try await self.expire() == 1)
        #expect(try await self.store.job(new.id, app: .default)?.state == .expired)
    }
}
