import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// PostgreSQL passes what any driver must of these parts, in the server that `deploy/test postgres` starts.
@Suite(
    .passes(.all, as: "PostgreSQL", if: TestServer.isThere, { try StoreAdministration($0) }),
    .undisturbed
)
struct PostgreSQLContract {}

/// The servers that `deploy/test postgres` starts, and how they are connected to.
enum TestServer {
    /// The folder with their ports, the roles' password and the certificate; nil = there are none.
    private static let folder = ProcessInfo.processInfo.environment["PUSHLINE_TEST_POSTGRES"]

    static var isThere: Bool { self.folder != nil }

    /// A machine that is busy takes its time.
    static var deadlines: Deadlines {
        var deadlines = Deadlines()
        deadlines.connect = .seconds(10)
        return deadlines
    }

    enum Role: String {
        case owner, programs
        /// One of the programs', which must show a certificate.
        case certified
    }

    /// The ports, that of the later timeline first.
    static func ports() throws -> [String] {
        try String(contentsOfFile: self.file("ports"), encoding: .utf8).split(separator: "\n").map(String.init)
    }

    static func file(_ name: String) throws -> String {
        guard let folder else {
            throw Unexpected("PUSHLINE_TEST_POSTGRES names no folder: deploy/test postgres makes one")
        }
        return "\(folder)/\(name)"
    }

    // Of ports nil = that of the later timeline; words: more of libpq's parameters.
    static func addresses(
        _ role: Role,
        schema: String = "public",
        ports: [String]? = nil,
        words: String = ""
    ) throws -> ServerAddresses {
        let ports = try ports ?? [self.ports()[0]]
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        let certificate = try self.file("server.crt").replacing(" ", with: "%20")
        return try ServerAddresses(
            """
            postgresql://\(role.rawValue)@\(hosts)/postgres?sslmode=verify-full&sslrootcert=\(certificate)\
            &options=-csearch_path%3D\(schema)\(words)
            """,
            passwordFile: self.file("password")
        )
    }

    /// How the programs' role connects without TLS, at a port where somebody looks into it.
    static func plainAddresses(_ ports: [Int], schema: String, words: String = "") throws -> ServerAddresses {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        return try ServerAddresses(
            "postgresql://plain@\(hosts)/postgres?sslmode=disable&options=-csearch_path%3D\(schema)\(words)"
        )
    }

    /// A connection as the owner of all.
    static func owner(_ schema: String = "public", ports: [String]? = nil) throws -> Wire {
        try Servers(self.addresses(.owner, schema: schema, ports: ports), self.deadlines, .migration).connect().wire
    }

    /// Makes a schema with the tables.
    ///
    /// - Returns: Its name.
    static func makeTables(ports: [String]? = nil, _ schema: String? = nil) throws -> String {
        let schema = schema ?? "t" + UUID().uuidString.replacing("-", with: "").lowercased()
        let creation = PostgreSQLStatement("CREATE SCHEMA \(schema)")
        _ = try self.owner(ports: ports).exchange([creation], until: .now + .seconds(30))
        _ = try Migrator(self.addresses(.owner, schema: schema, ports: ports), deadlines: self.deadlines).migrate(
            programs: "programs"
        )
        return schema
    }
}

/// The stores of the contract's suites.
final class StoreAdministration: StoreFixture {
    var store: any ResultStore { self.engine }
    let engine: PostgreSQLStore
    let time = TestTime()
    private let clock: StoreClock
    private let limits: JobLimits
    /// Each test has tables of its own.
    let schema: String

    init(_ options: StoreOptions) throws {
        self.clock = StoreClock(source: self.time, shift: self.time.wall.milliseconds - self.time.sinceBoot)
        self.schema = try TestServer.makeTables()
        self.limits = JobLimits(backlog: options.maximumBacklog, window: options.window)
        self.engine = try Self.engine(self.schema, self.clock, self.limits)
    }

    private static func engine(_ schema: String, _ clock: StoreClock, _ limits: JobLimits) throws -> PostgreSQLStore {
        try PostgreSQLStore(
            TestServer.addresses(.programs, schema: schema),
            clock: clock,
            limits: limits,
            deadlines: TestServer.deadlines
        )
    }

    func another() throws -> any ResultStore { try self.anotherEngine() }

    /// The same, of its own type.
    func anotherEngine() throws -> PostgreSQLStore { try Self.engine(self.schema, self.clock, self.limits) }

    func contains(_ text: String) async throws -> Bool { try await self.mentions(text, in: ["job", "dead"]) }

    func mentions(_ text: String) async throws -> Bool {
        try await self.mentions(text, in: Schema.relations.filter { $0 != "store_key" })
    }

    /// Bytes are shown as digits.
    private func mentions(_ text: String, in tables: [String]) async throws -> Bool {
        let text = text.lowercased()
        let digits = text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        for table in tables {
            let shown: SQLStatement = "lower(CAST(shown AS text))"
            let count = try await self.number(
                """
                SELECT count(*) FROM \(raw: table) AS shown
                WHERE strpos(\(shown), \(text)) > 0 OR strpos(\(shown), \(digits)) > 0
                """
            )
            if count != 0 { return true }
        }
        return false
    }

    func writes() async throws -> Int {
        try await self.number("SELECT CAST(sum(serial) AS bigint) FROM writer") ?? 0
    }
}
