import Foundation
import Logging
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// What an operator is told of the servers.
@Suite(.undisturbed) struct ObservationTests {
    private func wrong(_ servers: [ServerExamination.Server], _ primary: ServerExamination.Primary? = nil) -> [String] {
        ServerExamination(servers: servers, primary: primary).observations.filter { !$0.isRight }
            .map { "\($0.subject): \($0.words)" }
    }

    private func server(_ name: String, _ state: ServerExamination.State) -> ServerExamination.Server {
        ServerExamination.Server(name: name, state: state)
    }

    private var three: [ServerExamination.Server] {
        [self.server("one", .primary(timeline: 3)), self.server("two", .standby), self.server("three", .standby)]
    }

    private func primary(_ change: (inout ServerExamination.Primary) -> Void) -> ServerExamination.Primary {
        var primary = ServerExamination.Primary(
            version: "15.14",
            tables: 1,
            synchronousStandbyNames: "ANY 1 (two, three)"
        )
        change(&primary)
        return primary
    }

    @Test func aPrimaryWhoseCommitsAStandbyHasIsRight() {
        #expect(self.wrong(self.three, self.primary { _ in }) == [])
    }

    @Test func serversThatDoNotAnswerAndSeveralPrimariesAreWrong() {
        let lost = self.wrong([self.three[0], self.server("two", .unreachable("no answer in time"))], nil)
        #expect(
            lost == [
                "PostgreSQL server: two: no answer in time; one server less can take over; start it, or take it out of store.url"
            ]
        )
        let left = self.wrong([self.three[0], self.server("two", .primary(timeline: 2))])
        #expect(left.count == 1 && left[0].contains("one, two take writes: a failover has left two, "), "\(left)")
        let apart = self.wrong([self.three[0], self.server("two", .primary(timeline: 3))])
        #expect(apart.count == 1 && apart[0].contains("are not the servers of one store"), "\(apart)")
    }

    @Test(arguments: [
        (
            "connection to server at \"two\", port 5432 failed: Connection refused",
            "start it, or take it out of store.url"
        ),
        ("no answer in time", "start it, or take it out of store.url"),
        ("its name is not known, or was not looked up in time", "correct its name in store.url"),
        ("failed: SSL error: certificate verify failed", "name the authority of its certificate in store.url"),
        ("failed: SSL error: certificate verify failed", "see whether the certificate has expired"),
        ("failed: SSL error: certificate verify failed: certificate has expired", "renew that certificate"),
        ("failed: SSL error: sslv3 alert certificate expired", "renew that certificate"),
        ("failed: FATAL:  connection requires a valid client certificate", "sslcert=FILE and sslkey=FILE"),
        ("failed: SSL error: tlsv13 alert certificate required", "sslcert=FILE and sslkey=FILE"),
        ("failed: FATAL:  certificate authentication failed for user \"pushline\"", "sslcert=FILE and sslkey=FILE"),
        (
            "failed: root certificate file \"/nonexistent/.postgresql/root.crt\" does not exist",
            "certificate in store.url: sslrootcert=FILE"
        ),
        ("failed: server certificate for \"two\" does not match host name \"three\"", "as its certificate does"),
        ("failed: could not read root certificate file \"/ca.pem\": Permission denied", "make that file readable"),
        ("the file of the store's password cannot be read: /store", "make that file readable for the programs' user"),
        ("failed: FATAL:  password authentication failed for user \"pushline\"", "its password in store.password_file"),
        ("failed: fe_sendauth: no password supplied", "its password in store.password_file"),
        (
            "failed: FATAL:  no pg_hba.conf entry for host \"nine\", user \"pushline\"",
            "let this host and role in there"
        ),
        ("failed: FATAL:  database \"store\" does not exist", "name the store's database and role in store.url"),
        ("failed: FATAL:  role \"pushline\" does not exist", "name the store's database and role in store.url"),
        ("failed: FATAL:  too many connections for database \"store\"", "ALTER DATABASE or ALTER ROLE … CONNECTION"),
        ("failed: FATAL:  too many connections for role \"pushline\"", "ALTER DATABASE or ALTER ROLE … CONNECTION"),
        ("failed: FATAL:  sorry, too many clients already", "raise its max_connections"),
        ("failed: FATAL:  permission denied for database \"store\"", "GRANT CONNECT ON DATABASE"),
        ("failed: FATAL:  database \"store\" is not currently accepting connections", "ALLOW_CONNECTIONS true"),
        ("failed: No route to host", "mend that, or take it out of store.url"),
    ])
    func whatIsToBeDoneFitsTheReason(_ reason: String, _ remedy: String) {
        let found = self.wrong([self.server("two", .unreachable(reason))])
        #expect(found.count == 1 && found[0].hasPrefix("PostgreSQL server: two: \(reason); "), "\(found)")
        #expect(found.allSatisfy { $0.contains(remedy) }, "\(found)")
        let isAway = remedy.hasPrefix("start it")
        #expect(found.allSatisfy { $0.contains("start it") == isAway })
    }

    @Test func oneServerWithoutAStandbyIsNoted() {
        let primary = self.primary { $0.synchronousStandbyNames = "" }
        let seen = ServerExamination(servers: [self.three[0]], primary: primary).observations
        #expect(seen.first { $0.subject == "PostgreSQL commits" }?.verdict == .note)
    }

    @Test func whoCanTakeTheServersPlaceIsSaid() {
        let found = self.wrong([ServerExamination.Server(name: "one", state: .standby, weakMode: "require")])
        #expect(
            found.count == 1
                && found[0].hasPrefix("PostgreSQL TLS: one: sslmode=require does not check the server's identity")
        )
    }

    @Test(arguments: [
        ("off", "ANY 1 (two)", "a crash of the server loses"), ("local", "ANY 1 (two)", "do not wait for the standbys"),
        ("on", "", "no standby is synchronous"), ("local", "", "no standby is synchronous"),
    ])
    func commitsThatMayBeLostAreWrong(_ commit: String, _ names: String, _ words: String) {
        let primary = self.primary { ($0.synchronousCommit, $0.synchronousStandbyNames) = (commit, names) }
        let found = self.wrong(self.three, primary)
        #expect(found.count == 1 && found[0].contains(words), "\(found)")
        // Of one server nobody expects another to have everything.
        #expect(self.wrong([self.three[0]], primary).isEmpty == names.isEmpty)
    }

    @Test func theRestIsSaidWithWhatItCostsAndWhatToDo() {
        for (primary, words) in [
            (self.primary { $0.fsync = false }, "PostgreSQL commits: fsync is off: a power cut may ruin"),
            (self.primary { $0.isDirect = false }, "PostgreSQL pooler: something stands between"),
            (self.primary { $0.hasOurSettings = false }, "it drops the settings that we send"),
            (
                self.primary { $0.oldest = .init(name: "a session of backup (pg_dump)", seconds: 61) },
                "PostgreSQL snapshots: a session of backup (pg_dump) is open for 61 s: until it ends"
            ),
            (self.primary { $0.idleSlot = "old" }, "SELECT pg_drop_replication_slot('old')"),
            (self.primary { $0.tables = nil }, "pushline store migrate --owner ROLE --password-file FILE makes them"),
        ] {
            let found = self.wrong(self.three, primary)
            #expect(found.count == 1 && found[0].contains(words), "\(found)")
        }
        let young = self.primary { $0.oldest = .init(name: "a session of backup", seconds: 60) }
        #expect(self.wrong(self.three, young) == [])
    }
}

/// The servers are asked themselves.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct ExaminationTests {
    private let schema: String

    init() throws { self.schema = try TestServer.makeTables() }

    private func examine(_ addresses: ServerAddresses) -> ServerExamination {
        ServerExamination(addresses, deadlines: TestServer.deadlines, logger: Logger(label: "test"))
    }

    private func addresses(_ role: TestServer.Role = .programs, ports: [String]? = nil, words: String = "") throws
        -> ServerAddresses
    { try TestServer.addresses(role, schema: self.schema, ports: ports, words: words) }

    @Test func allServersAreAsked() throws {
        let ports = try TestServer.ports() + ["\(try SilentListener().port)"]
        let found = self.examine(try self.addresses(ports: ports)).servers
        #expect(Set(found.map(\.name)) == Set(ports.map { "127.0.0.1:\($0)" }))
        func state(_ port: Int) -> ServerExamination.State? {
            found.first { $0.name.hasSuffix(":\(ports[port])") }?.state
        }
        #expect(state(0) == .primary(timeline: 2))
        // Another test has it take no writes for a while.
        #expect([.primary(timeline: 1), .standby].contains(state(1)))
        guard case .unreachable? = state(2) else { return #expect(Bool(false), "\(found)") }
    }

    @Test func thePrimaryIsAskedMore() throws {
        let found = try #require(self.examine(try self.addresses()).primary)
        #expect(found.version.hasPrefix("1") && found.role == "programs")
        #expect(found.tables == Schema.plan.version)
        // As deploy/test sets them.
        #expect(!found.fsync && found.synchronousStandbyNames.isEmpty && found.synchronousCommit == "on")
        #expect(found.isDirect && found.hasOurSettings && !found.seesOthers)
        #expect(try #require(self.examine(try self.addresses(.owner)).primary).seesOthers)
        let empty = try #require(self.examine(try TestServer.addresses(.programs, schema: "nothing")).primary)
        #expect(empty.tables == nil)
    }

    @Test func settingsOfTheSessionAreSeen() throws {
        let words = "%20-csynchronous_commit%3Doff%20-cplan_cache_mode%3Dauto"
        let found = try #require(self.examine(try self.addresses(words: words)).primary)
        #expect(found.synchronousCommit == "off" && !found.hasOurSettings)
    }

    /// A pooler says a number of its own for the server's process.
    @Test func whoStandsBetweenIsSeen() throws {
        let proxy = try CuttingProxy(before: try #require(Int(TestServer.ports()[0])))
        defer { proxy.end() }
        let addresses = try TestServer.plainAddresses([proxy.port], schema: self.schema)
        #expect(try #require(self.examine(addresses).primary).isDirect)
        proxy.alter { bytes in
            // BackendKeyData: its type and length, then the number.
            let head: [UInt8] = [0x4B, 0, 0, 0, 12]
            guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: head) }) else { return bytes }
            var altered = bytes
            altered[place + 8] ^= 1
            return altered
        }
        #expect(try !#require(self.examine(addresses).primary).isDirect)
    }

    @Test func whatHoldsOldRowsIsSeen() throws {
        let owner = try TestServer.owner(self.schema)
        let begin = ["BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1 AS one"].map { PostgreSQLStatement($0) }
        _ = try owner.exchange(begin, until: .now + .seconds(30))
        // Others may hold older ones.
        let oldest = try #require(self.examine(try self.addresses(.owner)).primary?.oldest)
        #expect(oldest.seconds >= 0 && oldest.name.hasPrefix("a session of "))
    }

    @Test func aSlotThatNobodyReadsIsSeen() throws {
        let owner = try TestServer.owner(self.schema)
        let slot = "a\(self.schema)"
        func run(_ text: String) throws {
            _ = try owner.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))
        }
        try run("SELECT slot_name::text AS name FROM pg_create_physical_replication_slot('\(slot)')")
        let found = self.examine(try self.addresses()).primary?.idleSlot
        try run("SELECT 1 AS done FROM pg_drop_replication_slot('\(slot)')")
        #expect(found == slot)
    }
}
