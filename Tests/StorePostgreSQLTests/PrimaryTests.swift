import Foundation
import LogRecorder
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Who is the primary is shown by a write that is acknowledged; an old one, cut off from its standbys, acknowledges none.
///
/// These tests change the settings of the older server, which no other test writes to.
@Suite(.enabled(if: TestServer.isThere), .serialized, .timeLimit(.minutes(5)), .undisturbed) struct PrimaryTests {
    private let schema: String
    private let ports: [String]
    private let clock = StoreClock(source: TestTime(), shift: 0)

    init() throws {
        self.ports = try TestServer.ports()
        // What a test that was not finished has left: nothing is acknowledged while it holds.
        let settings = ["synchronous_standby_names", "default_transaction_read_only"].map { "ALTER SYSTEM RESET \($0)" }
        for text in settings + ["SELECT pg_reload_conf() AS done"] {
            let schema = "public%20-cdefault_transaction_read_only%3Doff%20-csynchronous_commit%3Dlocal"
            let wire = try TestServer.owner(schema, ports: [self.ports[1]])
            _ = try wire.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))
        }
        self.schema = try TestServer.makeTables(ports: [self.ports[1]])
    }

    private func older(_ text: String) throws -> [SQLRow] {
        // Also while it takes no writes from others.
        let schema = "\(self.schema)%20-cdefault_transaction_read_only%3Doff"
        let wire = try TestServer.owner(schema, ports: [self.ports[1]])
        return try wire.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))[0].rows
    }

    /// Whether the older server's commits wait for a standby that never comes.
    private func isCutOff(_ isCutOff: Bool) async throws {
        try await self.set("synchronous_standby_names", isCutOff ? "nobody" : "")
    }

    private func set(_ setting: String, _ value: String) async throws {
        _ = try self.older("ALTER SYSTEM SET \(setting) = '\(value)'")
        _ = try self.older("SELECT pg_reload_conf() AS done")
        // Each process of the server's reads it by itself.
        try await Task.sleep(for: .milliseconds(500))
    }

    private func store(_ deadlines: Deadlines = TestServer.deadlines, words: String = "") throws -> PostgreSQLStore {
        let addresses = try TestServer.addresses(
            .programs,
            schema: self.schema,
            ports: [self.ports[1]],
            words: words
        )
        return try PostgreSQLStore(addresses, clock: self.clock, deadlines: deadlines)
    }

    @Test func aProcessDoesNotBeginWhereNoWriteIsAcknowledged() async throws {
        var deadlines = TestServer.deadlines
        deadlines.commit = .milliseconds(500)
        try await self.isCutOff(true)
        let error = #expect(throws: StoreError.self) { try self.store(deadlines) }
        try await self.isCutOff(false)
        #expect(error?.message.contains("does not acknowledge a write") == true, "\(String(describing: error))")
        _ = try self.store(deadlines)
    }

    @Test func whatIsReadLongAfterAWriteDoesNotCount() async throws {
        var deadlines = TestServer.deadlines
        (deadlines.read, deadlines.proof) = (.seconds(4), .milliseconds(200))
        deadlines.heartbeat = .seconds(60)
        let store = try self.store(deadlines)
        #expect(try await store.pauses().isEmpty)
        try await self.isCutOff(true)
        let error = await #expect(throws: StoreError.self) { try await store.pauses() }
        try await self.isCutOff(false)
        #expect(error?.code == .unavailable)
        #expect(try await store.pauses().isEmpty)
    }

    /// A message of which an old primary knows nothing is not over: the new one may have its row.
    @Test func thatNothingIsToDoIsNotBelievedOfAnOldPrimary() async throws {
        var deadlines = TestServer.deadlines
        (deadlines.commit, deadlines.read, deadlines.resolution) = (.milliseconds(500), .seconds(2), .seconds(3))
        let store = try self.store(deadlines)
        let (message, batch) = (MessageID(number: 7), BatchKey(job: .make(), pns: .apns, page: 0, attempt: 0))
        let reads: [@Sendable () async throws -> Bool] = [
            { try await store.status(of: [batch], in: message).map(\.status) == [.closed] },
            { try await store.registerJobs(of: message).isEmpty },
            { try await store.claim(message, peeking: true) == nil },
        ]
        for read in reads {
            #expect(try await read())
            try await self.isCutOff(true)
            // What else is read there counts for a while.
            #expect(try await store.pauses().isEmpty)
            let error = await #expect(throws: StoreError.self) { try await read() }
            try await self.isCutOff(false)
            #expect(error?.mayPass == true, "\(String(describing: error))")
            #expect(try await read())
        }
    }

    /// What was read at the old primary decides nothing at the new one, nor that there is nothing to do.
    @Test(arguments: [true, false]) func whatAnOldPrimaryShowsIsReadAgain(hasWrites: Bool) async throws {
        _ = try TestServer.makeTables(self.schema)
        let ports = try self.ports.map { try #require(Int($0)) }
        let proxy = try CuttingProxy(before: ports[0])
        defer { proxy.end() }
        proxy.open(false)
        var deadlines = TestServer.deadlines
        (deadlines.heartbeat, deadlines.read) = (.milliseconds(20), .seconds(4))
        let name = "again\(UUID().uuidString)"
        let store = try PostgreSQLStore(
            TestServer.plainAddresses([ports[1], proxy.port], schema: self.schema, words: "&application_name=\(name)"),
            clock: self.clock,
            deadlines: deadlines
        )
        let seen = NIOLockedValueBox<[String]>([])
        let transaction = SQLTransaction(reading: "SELECT current_setting('port') AS port") { rows in
            let port: String = try #require(rows.first)["port"]
            if seen.withLockedValue({
                $0.append(port); return $0.count
            }) == 1 {
                proxy.open(true)
                try Self.waitForConnections(of: name)
            }
            return SQLDecision(writing: hasWrites ? ["SELECT 1 AS n"] : [], giving: port)
        }
        #expect(try await store.perform(transaction) == self.ports[0])
        #expect(seen.withLockedValue { $0.first } == self.ports[1])
    }

    /// Waits until a process uses the newer server: its heartbeat found it, and writes to it.
    private static func waitForConnections(of name: String) throws {
        let wire = try TestServer.owner()
        let used = PostgreSQLStatement(
            "SELECT 1 AS n FROM pg_stat_activity WHERE application_name = $1 AND query LIKE '%writer%'",
            [.text(name)]
        )
        while try wire.exchange([used], until: .now + .seconds(30))[0].count == 0 {
            Thread.sleep(forTimeInterval: 0.02)
        }
    }

    /// Somebody ends the wait for a standby: the commit is visible, and not safe until a later one is acknowledged.
    @Test func aWaitThatIsCancelledIsALostAnswer() async throws {
        let name = "waits\(UUID().uuidString)"
        var deadlines = TestServer.deadlines
        // Nobody else's wait is cancelled.
        deadlines.heartbeat = .seconds(600)
        let store = try self.store(deadlines, words: "&application_name=\(name)")
        // The connection of its writes is there, so that the wait is the change's.
        #expect(try await store.apply(.pause(.begin(.send, app: nil, by: "me"))))
        #expect(try await store.apply(.pause(.end(.send, app: nil))))
        try await self.isCutOff(true)
        let isOver = NIOLockedValueBox(false)
        let change = Task {
            defer { isOver.withLockedValue { $0 = true } }
            return try await store.apply(.pause(.begin(.send, app: nil, by: "me")))
        }
        var cancelled = 0
        while cancelled == 0 {
            try await Task.sleep(for: .milliseconds(20))
            cancelled = try self.older(
                """
                SELECT pg_cancel_backend(pid) AS done FROM pg_stat_activity
                WHERE application_name = '\(name)' AND wait_event = 'SyncRep'
                """
            ).count
        }
        try await Task.sleep(for: .milliseconds(300))
        #expect(!isOver.withLockedValue { $0 })
        try await self.isCutOff(false)
        #expect(try await change.value)
        #expect(try await store.pauses().count == 1)
    }

    @Test func aServerThatTakesNoWritesAnyMoreIsLeft() async throws {
        var deadlines = TestServer.deadlines
        deadlines.read = .seconds(4)
        let store = try self.store(deadlines)
        #expect(try await store.apply(.pause(.begin(.send, app: nil, by: "me"))))
        try await self.set("default_transaction_read_only", "on")
        let error = await #expect(throws: StoreError.self) {
            try await store.apply(.pause(.end(.send, app: nil)))
        }
        try await self.set("default_transaction_read_only", "off")
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("takes no writes") == true, "\(String(describing: error))")
        #expect(try await store.apply(.pause(.end(.send, app: nil))))
    }

    @Test func commitsThatACrashMayLoseAreSaidOnce() throws {
        let log = LogRecorder()
        let addresses = try TestServer.addresses(
            .programs,
            schema: "\(self.schema)%20-csynchronous_commit%3Doff",
            ports: [self.ports[1]]
        )
        let servers = Servers(addresses, TestServer.deadlines, logger: log.logger(.info))
        for _ in 0..<2 { _ = try servers.connect() }
        #expect(log.lines.map(\.fields) == [["synchronous_commit": "off"]])
    }

    /// A process that only knew the old primary goes to the new one when it is seen, and never back.
    @Test func aLaterTimelineIsGoneToAndNotLeft() async throws {
        _ = try TestServer.makeTables(self.schema)
        let (newer, older) = (try #require(Int(self.ports[0])), try #require(Int(self.ports[1])))
        let proxy = try CuttingProxy(before: newer)
        defer { proxy.end() }
        proxy.open(false)
        var deadlines = TestServer.deadlines
        (deadlines.heartbeat, deadlines.read) = (.milliseconds(20), .seconds(4))
        let name = "later\(UUID().uuidString)"
        let store = try PostgreSQLStore(
            TestServer.plainAddresses(
                [older, proxy.port],
                schema: self.schema,
                words: "&application_name=\(name)"
            ),
            clock: self.clock,
            deadlines: deadlines
        )
        func port() async throws -> Int {
            let port: String? = try await store.rows("SELECT current_setting('port') AS port").first?["port"]
            return try #require(port.flatMap(Int.init))
        }
        #expect(try await port() == older)
        proxy.open(true)
        var found = older
        while found == older {
            try await Task.sleep(for: .milliseconds(20))
            found = try await port()
        }
        #expect(try await port() == newer)
        proxy.open(false)
        let ending = PostgreSQLStatement(
            "SELECT pg_terminate_backend(pid) AS n FROM pg_stat_activity WHERE application_name = $1",
            [.text(name)]
        )
        let ended = try TestServer.owner().exchange([ending], until: .now + .seconds(10))
        #expect(ended[0].count > 0)
        let error = await #expect(throws: StoreError.self) { try await port() }
        #expect(error?.message.contains("timeline 1") == true, "\(String(describing: error))")
    }
}
