package import Foundation
package import Store
import StorePostgreSQL
import StoreSQLite

/// The store of a test that asks for none in particular: a file in the test's own folder, or a schema of its own in the server of
/// `deploy/test postgres`, where `PUSHLINE_TEST_POSTGRES` names that server's folder.
package enum TestStore {
    private static let server = ProcessInfo.processInfo.environment["PUSHLINE_TEST_POSTGRES"].map(TestPostgreSQL.init)

    /// Whether it is in a PostgreSQL: then no folder has a file of it, and its steps are taken by the tables' owner.
    package static var isAtServer: Bool { self.server != nil }

    /// What `pushline store migrate` is told beside.
    package static var ownership: [String] {
        self.server.map { ["--owner", "owner", "--password-file", $0.passwordFile] } ?? []
    }

    /// Makes a store for programs.
    ///
    /// - Parameter folder: For what it has of this host.
    /// - Returns: What the programs are told of it.
    /// - Throws: What the server says.
    package static func settings(in folder: URL) throws -> [String: String] {
        guard let server else { return ["PUSHLINE_STORE_PATH": folder.appending(path: "store.sqlite").path] }
        return [
            "PUSHLINE_STORE_PATH": "", "PUSHLINE_STORE_URL": try server.makeStore().url,
            "PUSHLINE_STORE_PASSWORD_FILE": server.passwordFile, "PUSHLINE_STORE_LOCK_FOLDER": folder.path,
        ]
    }

    /// Makes a store, and opens it.
    ///
    /// - Parameters:
    ///   - folder: For what it has of this host.
    ///   - window: How much of an app may be under way to a push service.
    /// - Returns: The store.
    /// - Throws: What the driver says.
    package static func open(in folder: URL, window: InFlightWindow = InFlightWindow()) async throws -> any ResultStore
    {
        if let server {
            var deadlines = Deadlines()
            // A machine that is busy takes its time.
            deadlines.connect = .seconds(10)
            return try PostgreSQLStore(
                server.makeStore().addresses,
                limits: JobLimits(window: window),
                deadlines: deadlines
            )
        }
        var configuration = SQLiteStore.Configuration(path: folder.appending(path: "store.sqlite").path)
        configuration.window = window
        return try await SQLiteStore.open(configuration)
    }
}

/// The folder of a server that `deploy/lib/postgres.sh` has started for tests.
private struct TestPostgreSQL {
    let folder: String

    init(_ folder: String) { self.folder = folder }

    var passwordFile: String { "\(self.folder)/password" }

    /// Makes a schema with the tables; nobody removes it, for the server goes.
    ///
    /// - Returns: How the programs come to it.
    func makeStore() throws -> (url: String, addresses: ServerAddresses) {
        let schema = "e" + UUID().uuidString.replacing("-", with: "").lowercased()
        try self.run("CREATE SCHEMA \(schema)")
        let url = try "\(self.url(of: "programs"))&options=-csearch_path%3D\(schema)"
        let addresses = try ServerAddresses(url, passwordFile: self.passwordFile)
        let owner = addresses.connecting(as: "owner", passwordFile: self.passwordFile)
        _ = try Migrator(owner).migrate(programs: "programs")
        return (url, addresses)
    }

    /// Of two servers the first is on the later timeline.
    private func url(of role: String) throws -> String {
        let ports = try String(contentsOfFile: "\(self.folder)/ports", encoding: .utf8).split(separator: "\n")
        let certificate = "\(self.folder)/server.crt".replacing(" ", with: "%20")
        return "postgresql://\(role)@127.0.0.1:\(ports[0])/postgres?sslmode=verify-full&sslrootcert=\(certificate)"
    }

    /// Runs a statement as who may do everything.
    private func run(_ statement: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, try self.url(of: "owner")]
        let password = try String(contentsOfFile: self.passwordFile, encoding: .utf8)
        process.environment = ProcessInfo.processInfo.environment
            .merging(["PGPASSWORD": password.trimmingCharacters(in: .newlines)]) { $1 }
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw StoreError(.unavailable, "psql: \(statement) failed") }
    }
}
