import ArgumentParser
import Foundation
import GRDB
import Installation
import PushModel
import Settings
import Store
import StoreKit
import StoreSQL
import StoreSQLite
import Testing

@testable import PushlineCommands
@testable import StorePostgreSQL

/// A store is moved into a PostgreSQL and back, and is the same.
@Suite(.enabled(if: PrivateServer.isThere)) struct StoreMoveTests {
    private let host: HostCommandsTests.Host
    private let url: String
    private let owner: TableOwner

    init() throws {
        self.host = try HostCommandsTests.Host()
        self.url = try PrivateServer.newSchema()
        self.owner = TableOwner(role: "owner", passwordFile: try PrivateServer.file("password"))
    }

    /// Writes a store that has rows in every table.
    private func makeStore() throws -> String {
        let path = self.host.path("store.sqlite")
        let text = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Stores/sqlite-1.sql")
        let file = try DatabaseQueue(path: path)
        try file.writeWithoutTransaction { try $0.execute(sql: String(contentsOf: text, encoding: .utf8)) }
        try file.close()
        let store = Composition.store(try PushlineConfiguration(file: self.host.path("pushline.yaml")))
        let (found, steps) = try store.pendingSteps(as: nil)
        for place in steps.indices {
            try store.takeStep(to: found.number + 1 + place - steps.startIndex, as: nil, by: .ofHost(.storeMigrate))
        }
        return path
    }

    /// All rows of all tables, but for the clock, which goes on.
    private func rows(of path: String) throws -> [String: [String]] {
        let file = try DatabaseQueue(path: path)
        return try file.read { database in
            let tables = try String.fetchAll(
                database,
                sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('clock', 'sqlite_sequence')"
            )
            return try tables.reduce(into: [:]) { rows, table in
                // As SQLite writes values, bytes too.
                let columns = try database.columns(in: table).map { "quote(\"\($0.name)\")" }
                let sql = "SELECT \(columns.joined(separator: " || ',' || ")) FROM \(table)"
                rows[table] = try String.fetchAll(database, sql: sql).sorted()
            }
        }
    }

    private func numbers(of path: String) throws -> [String: Int64] {
        try DatabaseQueue(path: path).read { database in
            let rows = try Row.fetchAll(database, sql: "SELECT name, seq FROM sqlite_sequence")
            return rows.reduce(into: [:]) { $0[$1["name"]] = $1["seq"] }
        }
    }

    private func move(_ source: MovePlace, _ target: MovePlace, progress: (Int, Int) throws -> Void = { _, _ in })
        throws
        -> Int
    { try Composition.move(from: source, to: target, as: self.owner, by: .ofHost(.storeMove), progress: progress) }

    /// Every row is the same, and each move has its entry beside the others.
    private func expect(_ after: [String: [String]], after before: [String: [String]], moves: Int) {
        #expect(Set(after.keys) == Set(before.keys))
        for (table, rows) in before where table != "act" { #expect(after[table] == rows, "\(table)") }
        let (old, new) = (Set(before["act"] ?? []), Set(after["act"] ?? []))
        #expect(new.isSuperset(of: old) && new.count == old.count + moves, "\(new)")
        #expect(new.subtracting(old).allSatisfy { $0.contains("'store.move'") && $0.contains("'done'") })
    }

    /// What `pushline store check` says of the store at a place.
    private func check(_ place: MovePlace) async throws -> [String] {
        let settings =
            switch place {
            case .file(let path): "  path: \(path)\n"
            case .servers(let url): "  url: \"\(url)\"\n  password_file: \"\(try PrivateServer.file("password"))\"\n"
            }
        try self.host.write("store:\n\(settings)", to: "pushline.yaml")
        return try await self.host.run("store", "check")
    }

    @Test func thereAndBackEveryRowIsTheSame() async throws {
        let path = try self.makeStore()
        let (before, numbers) = (try self.rows(of: path), try self.numbers(of: path))
        #expect(before.values.allSatisfy { !$0.isEmpty }, "\(before.filter(\.value.isEmpty).keys)")
        var shown: [Int] = []
        let count = try self.move(.file(path), .servers(self.url)) { done, total in
            shown.append(done)
            #expect(done <= total)
        }
        #expect(shown == shown.sorted() && shown.last == count)
        let back = self.host.path("back.sqlite")
        // With the entry of the first move.
        #expect(try self.move(.servers(self.url), .file(back)) == count + 1)
        self.expect(try self.rows(of: back), after: before, moves: 2)
        // Of jobs a block of numbers is one process's.
        let last = try self.numbers(of: back)
        for (table, number) in numbers { #expect((last[table] ?? 0) >= number, "\(table)") }
        #expect(try self.rows(of: path) == before, "what is moved stays as it is")
        // Not before, for it is a program, whose connections the server has for a moment longer.
        let jobs = try #require(before["job"]).count
        for place in [MovePlace.file(path), .servers(self.url), .file(back)] {
            #expect(try await self.check(place) == ["\(jobs) jobs: all adds up"], "\(place)")
        }
    }

    /// The number that a query of the tables' owner finds.
    private func number(_ query: String) throws -> Int64 {
        let addresses = try ServerAddresses(self.url).connecting(
            as: "owner",
            passwordFile: PrivateServer.file("password")
        )
        let wire = try Servers(addresses, Deadlines(), .migration).connect().wire
        let rows = try wire.exchange([PostgreSQLStatement(query)], until: .now + .seconds(30))[0].rows
        return try #require(rows.first)["number"]
    }

    private static func deletion(of id: RegistrationID, version: Int64) -> String {
        "INSERT INTO tombstone SELECT number, '\(id.text)', '', \(version), 1800086560000 FROM app WHERE name = 'default'"
    }

    /// Takes the newest rows of these tables away, and the newest jobs, and deletes an id by a change that was later than any other.
    private func change(_ path: String, without tables: some Sequence<String>, deletion: String) throws {
        let parts = [
            "audience", "idempotency", "recipient", "hub_call", "cursor", "batch", "outcome", "delivery_count",
            "platform_count", "user_removal",
        ]
        let file = try DatabaseQueue(path: path)
        try file.write { database in
            for table in tables { try database.execute(sql: "DELETE FROM \(table)") }
            for part in parts { try database.execute(sql: "DELETE FROM \(part) WHERE job > 20") }
            try database.execute(sql: "DELETE FROM job WHERE sequence > 20")
            try database.execute(sql: deletion)
        }
        try file.close()
    }

    private struct Refused: Error {}

    /// Puts an id now.
    ///
    /// - Returns: What came of the change, and its number.
    private func put(_ id: RegistrationID, into store: any ResultStore) async throws -> (RegisterResult?, Int64) {
        let request = RegisterRequest.upsert(id, .init(pns: .apns, handle: Handle(stored: id.text), tags: []))
        let new = NewJob(app: .default, work: .register(request), lifetime: .seconds(60))
        guard case .accepted(let job)? = try await store.accept([new]).answers.first else { throw Refused() }
        let result = try await store.register(request, of: RegisterJob(app: .default, sequence: job.sequence))
        return (result, job.sequence)
    }

    /// The last number that the server gave to a row of a table.
    private func lastNumber(of table: MovedTable) throws -> Int64 {
        let sequence =
            switch table.name {
            case "job": "'job_sequence'"
            case "message": "'message_number'"
            default: "pg_get_serial_sequence('\(table.name)', '\(table.key[0])')"
            }
        return try self.number("SELECT coalesce(pg_sequence_last_value(to_regclass(\(sequence))), 0) AS number")
    }

    /// Also where the newest rows are gone, and an id was deleted by a change with a later number than any that is known.
    @Test func numbersGoOnAboveAllThatWereUsed() async throws {
        let path = try self.makeStore()
        let gone = ["message", "delivery", "dead", "dead_handle", "session"]
        let (first, second) = (RegistrationID.random(), RegistrationID.random())
        try self.change(path, without: gone, deletion: Self.deletion(of: first, version: 100_000))
        // Of every table some numbers were used that no row has any more.
        try await DatabaseQueue(path: path).write { try $0.execute(sql: "UPDATE sqlite_sequence SET seq = seq + 1000") }
        let numbers = try self.numbers(of: path)
        #expect(numbers.count >= 11 && numbers.values.allSatisfy { $0 > 1000 }, "\(numbers)")
        _ = try self.move(.file(path), .servers(self.url))
        for table in MovedTable.all where table.isNumbered {
            // A table whose numbers SQLite does not remember has its rows' alone.
            let rows = try self.number(
                "SELECT coalesce(max(\"\(table.key[0])\"), 0) AS number FROM \(table.name)"
            )
            let last = try self.lastNumber(of: table)
            #expect(last >= max(numbers[table.name] ?? 1, rows), "\(table.name): \(last)")
        }
        #expect(try self.number("SELECT last_value AS number FROM job_sequence") >= 100_000)
        _ = try self.number("\(Self.deletion(of: second, version: 200_000)) RETURNING version AS number")
        let back = self.host.path("back.sqlite")
        _ = try self.move(.servers(self.url), .file(back))
        let last = try self.numbers(of: back)
        for (table, number) in numbers { #expect((last[table] ?? 0) >= number, "\(table)") }
        let programs = try ServerAddresses(self.url, passwordFile: PrivateServer.file("password"))
        let atServer = try await self.put(first, into: PostgreSQLStore(programs))
        #expect(atServer.0 == .done && atServer.1 > 100_000, "\(atServer)")
        let inFile = try await self.put(second, into: SQLiteStore.open(.init(path: back)))
        #expect(inFile.0 == .done && inFile.1 > 200_000, "\(inFile)")
    }

    /// A version is the number of a job that may be gone, and so may be the latest number that is known (rule 11).
    @Test(arguments: ["registration", "released_handle", "tombstone", "removed_user"])
    func newJobsComeBehindEveryVersion(of table: String) async throws {
        let (path, back) = (try self.makeStore(), self.host.path("back.sqlite"))
        try await DatabaseQueue(path: path).write { try $0.execute(sql: "UPDATE \(table) SET version = 100000") }
        _ = try self.move(.file(path), .servers(self.url))
        #expect(try self.number("SELECT last_value AS number FROM job_sequence") >= 100_000)
        #expect(
            try self.number(
                """
                WITH changed AS (UPDATE \(table) SET version = 200000 RETURNING version)
                SELECT max(version) AS number FROM changed
                """
            ) == 200_000
        )
        _ = try self.move(.servers(self.url), .file(back))
        #expect(try #require(self.numbers(of: back)["job"]) >= 200_000)
    }

    private struct BrokenOff: Error {}

    @Test func aMoveThatIsBrokenOffGoesOn() throws {
        let path = try self.makeStore()
        let before = try self.rows(of: path)
        let back = self.host.path("back.sqlite")
        for (source, target) in [
            (MovePlace.file(path), MovePlace.servers(self.url)), (.servers(self.url), .file(back)),
        ] {
            for limit in [20, 100] {
                #expect(throws: BrokenOff.self) {
                    try self.move(source, target) { done, _ in if done > limit { throw BrokenOff() } }
                }
            }
            #expect(!FileManager.default.fileExists(atPath: back))
            if case .servers(let url) = target {
                let programs = try ServerAddresses(url, passwordFile: PrivateServer.file("password"))
                let error = #expect(throws: StoreError.self) { try PostgreSQLStore(programs) }
                #expect(error?.message.contains("run pushline store move again") == true)
            }
            _ = try self.move(source, target)
        }
        self.expect(try self.rows(of: back), after: before, moves: 2)
    }

    @Test(arguments: [false, true]) func programsThatRunAreInTheWay(atSource: Bool) throws {
        let (path, back) = (try self.makeStore(), self.host.path("back.sqlite"))
        if atSource { _ = try self.move(.file(path), .servers(self.url)) }
        let program = try PrivateServer.run("SELECT 1 AS one", at: self.url)
        let error = #expect(throws: StoreError.self) {
            try atSource ? self.move(.servers(self.url), .file(back)) : self.move(.file(path), .servers(self.url))
        }
        #expect(error?.message.contains("stop them all, on every host") == true)
        #expect(!FileManager.default.fileExists(atPath: back))
        withExtendedLifetime(program) {}
    }

    /// Who comes while a store is moved away would write what is not moved.
    @Test func aProgramThatComesMeanwhileWaits() throws {
        let (path, back) = (try self.makeStore(), self.host.path("back.sqlite"))
        _ = try self.move(.file(path), .servers(self.url))
        // So that it does not wait until the end.
        let hasty = "\(self.url)%20-clock_timeout%3D50"
        let programs = try ServerAddresses(hasty, passwordFile: PrivateServer.file("password"))
        var isTried = false
        _ = try self.move(.servers(self.url), .file(back)) { _, _ in
            guard !isTried else { return }
            isTried = true
            let error = #expect(throws: StoreError.self) { try PostgreSQLStore(programs) }
            #expect(error?.message.contains("lock timeout") == true, "\(String(describing: error))")
        }
        #expect(isTried)
        // It stays as it is.
        _ = try PostgreSQLStore(ServerAddresses(self.url, passwordFile: PrivateServer.file("password")))
    }

    @Test func programsThatHaveTheFileOpenAreInTheWay() async throws {
        let path = try self.makeStore()
        let (program, copy) = (try await SQLiteStore.open(.init(path: path)), self.host.path("copy.sqlite"))
        for target in [self.url, copy] {
            let words = ["--from", path, "--to", target, "--owner", "owner", "--password-file"]
            let command = try StoreMoveCommand.parse(words + [PrivateServer.file("password")])
            let failure = await #expect(throws: CommandFailure.self) { try await command.run() }
            #expect(failure?.message == "processes have the store at \(path) open: stop them all")
        }
        // Nothing was begun.
        let tables = "SELECT count(*) AS number FROM pg_class WHERE oid = to_regclass('store_version')"
        #expect(try self.number(tables) == 0)
        #expect(!FileManager.default.fileExists(atPath: copy))
        withExtendedLifetime(program) {}
    }

    @Test func theOwnerAndItsPasswordAreAskedFor() throws {
        let path = try self.makeStore()
        let target = MovePlace.servers(self.url)
        let programs = try #require(try ServerAddresses(self.url).role)
        let cases: [(TableOwner?, String)] = [
            (nil, "give --owner ROLE --password-file FILE"),
            (TableOwner(role: "owner", passwordFile: nil), "give --password-file FILE"),
            (TableOwner(role: programs, passwordFile: nil), "role \(programs) must not own the tables"),
        ]
        for (owner, words) in cases {
            let error = #expect(throws: (any Error).self) {
                try Composition.move(from: .file(path), to: target, as: owner, by: .ofHost(.storeMove)) { _, _ in }
            }
            #expect(error.map { "\($0)".contains(words) } == true)
        }
    }

    @Test func nothingIsOverwritten() throws {
        let path = try self.makeStore()
        _ = try self.move(.file(path), .servers(self.url))
        let again = #expect(throws: StoreError.self) { try self.move(.file(path), .servers(self.url)) }
        #expect(again?.code == .conflict && again?.message.hasPrefix("this store was moved here already") == true)
        let over = #expect(throws: StoreError.self) { try self.move(.servers(self.url), .file(path)) }
        #expect(over?.code == .conflict)
    }
}
