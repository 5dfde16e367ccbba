import Foundation
import PushModel
import Store
import StoreContract
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// What holds of connections, whatever is said over them.
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct ConnectionTests {
    private static let patience = Duration.seconds(30)

    private func servers(
        _ ports: [String]? = nil,
        _ deadlines: Deadlines = TestServer.deadlines,
        timeline: Int64 = 0,
        words: String = ""
    ) throws -> Servers {
        try Servers(TestServer.addresses(.programs, ports: ports, words: words), deadlines, timeline: timeline)
    }

    private func rows(_ wire: Wire, _ text: String, _ parameters: PostgreSQLStatement.Parameter...) throws -> [SQLRow] {
        try wire.exchange([PostgreSQLStatement(text, parameters)], until: .now + Self.patience)[0].rows
    }

    @Test func theServerOfTheLatestTimelineIsTaken() throws {
        let ports = try TestServer.ports()
        for _ in 0..<10 {
            let wire = try self.servers(ports).connect().wire
            let port = try self.rows(wire, "SELECT current_setting('port') AS port")[0]["port"] as String
            #expect(port == ports[0])
        }
        // The old primary takes writes still, and is gone back to in no case.
        let error = #expect(throws: StoreError.self) { try self.servers([ports[1]], timeline: 2).connect() }
        #expect(error?.code == .unavailable && error?.message.contains("timeline 1") == true)
        // Where only it is known, it is the store's.
        _ = try self.servers([ports[1]]).connect()
    }

    /// The server says its version in its first answer, where another takes its place here.
    @Test func aServerThatIsTooOldIsRefused() throws {
        let proxy = try CuttingProxy(before: try #require(Int(try TestServer.ports()[0])))
        defer { proxy.end() }
        func connect(_ version: String) throws -> Servers.Connection {
            let name = Array("server_version\0".utf8)
            proxy.alter { bytes in
                guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: name) }) else { return bytes }
                var altered = bytes
                altered.replaceSubrange((place + name.count)..<(place + name.count + 2), with: version.utf8)
                return altered
            }
            let addresses = try TestServer.plainAddresses([proxy.port], schema: "public")
            return try Servers(addresses, TestServer.deadlines).connect()
        }
        let error = #expect(throws: StoreError.self) { try connect("14") }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("the server is older than PostgreSQL 15") == true)
        #expect(error?.message.contains("\n") == false)
        _ = try connect("15")
    }

    /// Reads are not to be older than writes.
    @Test func aLossEndsAllConnectionsOfItsTime() throws {
        let servers = try self.servers()
        let (one, two) = (try servers.connect(), try servers.connect())
        #expect(one.generation == servers.generation && two.generation == servers.generation)
        servers.lost(one.generation)
        servers.lost(two.generation)
        #expect(servers.generation == one.generation + 1)
        #expect(try servers.connect().generation == servers.generation)
    }

    @Test func passwordsGoOverTLSAndStandInNoError() throws {
        let wire = try self.servers().connect().wire
        #expect(wire.isEncrypted)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "not the password".write(toFile: file, atomically: true, encoding: .utf8)
        let port = try TestServer.ports()[0]
        let words = "host=127.0.0.1 port=\(port) user=programs dbname=postgres sslmode="
        func error(_ mode: String) throws -> StoreError? {
            let servers = try Servers(ServerAddresses(words + mode, passwordFile: file), TestServer.deadlines)
            return #expect(throws: StoreError.self) { try servers.connect() }
        }
        let wrong = try error("require")
        #expect(wrong?.message.contains("password authentication failed") == true)
        #expect(wrong?.description.contains("not the password") == false)
        // Whom nobody vouches for gets no password.
        #expect(try error("verify-full")?.message.contains("certificate") == true)
        #expect(try error("disable")?.message.contains("no encryption") == true)
    }

    /// Who has the password alone is not let in, nor with the certificate of another.
    @Test func aServerMayDemandACertificate() async throws {
        let schema = try TestServer.makeTables()
        func addresses(_ name: String?) throws -> ServerAddresses {
            let files = try name.map { (try TestServer.file("\($0).crt"), try TestServer.file("\($0).key")) }
            let words = files.map { "&sslcert=\($0)&sslkey=\($1)".replacing(" ", with: "%20") } ?? ""
            return try TestServer.addresses(.certified, schema: schema, words: words)
        }
        let cases: [(String?, String)] = [
            (nil, "connection requires a valid client certificate"),
            // Of the two that it asks for it names the first.
            ("server", "password authentication failed for user \"certified\""),
        ]
        for (name, words) in cases {
            let servers = try Servers(addresses(name), TestServer.deadlines)
            let error = #expect(throws: StoreError.self) { try servers.connect() }
            #expect(error?.code == .unavailable)
            #expect(error?.message.contains(words) == true, "\(String(describing: error))")
        }
        let wire = try Servers(addresses("certified"), TestServer.deadlines).connect().wire
        let row = try self.rows(wire, "SELECT client_dn AS name FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0]
        #expect(try row["name"] == "/CN=certified")
        let store = try PostgreSQLStore(addresses("certified"), deadlines: TestServer.deadlines)
        try await store.apply(.app(.default, AppSpec()))
        #expect(try await store.app(.default) == AppSpec())
    }

    /// What is looked at behind a lock is not to be older than the lock, whatever an administrator has set.
    @Test func transactionsSeeWhatWasCommittedBeforeEachStatement() throws {
        let owner = try TestServer.owner()
        _ = try self.rows(owner, "ALTER ROLE programs SET default_transaction_isolation = 'serializable'")
        defer { _ = try? self.rows(owner, "ALTER ROLE programs RESET default_transaction_isolation") }
        let wire = try self.servers().connect().wire
        let row = try self.rows(wire, "SELECT current_setting('transaction_isolation') AS level")[0]
        #expect(try row["level"] == "read committed")
    }

    @Test func valuesArriveAsTheyWere() throws {
        let wire = try self.servers().connect().wire
        let row = try self.rows(
            wire,
            "SELECT $1::bigint AS number, $2::text AS text, $3::bytea AS bytes, $4::text AS nothing, $5::boolean AS truth",
            .integer(.min),
            .text("a\0\u{1F469}\u{200D}\u{1F52C}'\\"),
            .bytes([0, 255, 92]),
            .null,
            .null
        )[0]
        #expect(try row["number"] as Int64 == .min)
        #expect(try row["text"] as String == "a\u{FFFD}\u{1F469}\u{200D}\u{1F52C}'\\")
        #expect(try row["bytes"] as [UInt8] == [0, 255, 92])
        #expect(try row["nothing"] as String? == nil)
        #expect(try row["truth"] as Bool? == nil)
        let rows = try self.rows(
            wire,
            "SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS a(number, text, bytes)",
            .integers([1, nil, -1]),
            .texts(["", "\0", nil]),
            .byteStrings([nil, [], [0]])
        )
        #expect(try rows.map { try $0["number"] as Int64? } == [1, nil, -1])
        #expect(try rows.map { try $0["text"] as String? } == ["", "\u{FFFD}", nil])
        #expect(try rows.map { try $0["bytes"] as [UInt8]? } == [nil, [], [0]])
        #expect(try self.rows(wire, "SELECT 1 AS one FROM unnest($1::text[])", .texts([])).isEmpty)
    }

    /// The server answers before it has read all: neither waits for the other.
    @Test func muchGoesBothWaysAtOnce() throws {
        let wire = try self.servers().connect().wire
        let text = String(repeating: "x", count: 100_000)
        let statements = (0..<500).map { _ in PostgreSQLStatement("SELECT $1::text AS text", [.text(text)]) }
        let answers = try wire.exchange(statements, until: .now + Self.patience)
        #expect(answers.count == 500)
        #expect(try answers.allSatisfy { try $0.rows[0]["text"] as String == text })
    }

    /// A part of a record that libpq has no room for comes from the socket no more.
    @Test func recordsMayBeLongerThanWhatIsTakenAtATime() throws {
        let (port, certificate) = (try #require(Int(try TestServer.ports()[0])), try TestServer.file("server.crt"))
        let relay = try RecordRelay(before: port, certificate: certificate, key: try TestServer.file("server.key"))
        let addresses = try ServerAddresses(
            "postgresql://plain@127.0.0.1:\(relay.port)/postgres?sslmode=verify-full&sslrootcert=\(certificate)"
        )
        let wire = try Servers(addresses, TestServer.deadlines).connect().wire
        #expect(wire.isEncrypted)
        for count in 1...40 {
            let text = String(repeating: "x", count: 5000)
            let statements = (0..<count).map { _ in PostgreSQLStatement("SELECT $1::text AS text", [.text(text)]) }
            let answers = try wire.exchange(statements, until: .now + .seconds(10))
            #expect(try answers.allSatisfy { try $0.rows[0]["text"] as String == text })
        }
        for size in [20_000, 120_000, 1_000_000] {
            let row = try self.rows(wire, "SELECT repeat('x', CAST($1 AS integer)) AS text", .text("\(size)"))[0]
            #expect((try row["text"] as String).utf8.count == size)
        }
    }

    @Test func nothingOfWhatIsRefusedIsWritten() throws {
        let wire = try TestServer.owner()
        let table = "t\(UUID().uuidString.replacing("-", with: ""))"
        _ = try self.rows(wire, "CREATE TABLE \(table)(number bigint)")
        let insertion = PostgreSQLStatement("INSERT INTO \(table) VALUES (1)")
        let fault = #expect(throws: WireFault.self) {
            try wire.exchange([insertion, PostgreSQLStatement("SELECT 1 / 0"), insertion], until: .now + Self.patience)
        }
        guard case .refused(let refusal)? = fault else {
            Issue.record("\(String(describing: fault))")
            return
        }
        #expect(refusal.state == "22012" && refusal.statement == 1)
        #expect(!wire.isInTransaction)
        #expect(try self.rows(wire, "SELECT number FROM \(table)").isEmpty)
    }

    @Test func aServerThatDoesNotAnswerIsWaitedForUntilTheDeadline() throws {
        let listener = try SilentListener()
        var deadlines = Deadlines()
        deadlines.connect = .milliseconds(200)
        let servers = try Servers(
            ServerAddresses("host=127.0.0.1 port=\(listener.port) dbname=postgres"),
            deadlines
        )
        let start = ContinuousClock.now
        let error = #expect(throws: StoreError.self) { try servers.connect() }
        #expect(error?.message.contains("no answer in time") == true)
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    /// As many as PUSHLINE_TEST_RECONNECTS says.
    @Test func connectionsLeaveNothingBehind() throws {
        let name = "reconnects\(UUID().uuidString)"
        let count = ProcessInfo.processInfo.environment["PUSHLINE_TEST_RECONNECTS"].flatMap(Int.init) ?? 100
        let servers = try self.servers(words: "&application_name=\(name)")
        let (limit, before) = (count / 10, Memory.resident)
        for number in 0..<count {
            let wire = try servers.connect().wire
            #expect(wire.isAlive)
            if number == limit, count >= 1000 {
                print("resident after \(number): \(Memory.resident) kB, at first \(before)")
            }
        }
        if count >= 1000 { print("resident after \(count): \(Memory.resident) kB") }
        let owner = try TestServer.owner()
        let mine = "SELECT pid FROM pg_stat_activity WHERE application_name = $1"
        var left = count
        for _ in 0..<100 where left > 0 {
            left = try self.rows(owner, mine, .text(name)).count
            if left > 0 { Thread.sleep(forTimeInterval: 0.05) }
        }
        #expect(left == 0)
    }
}
