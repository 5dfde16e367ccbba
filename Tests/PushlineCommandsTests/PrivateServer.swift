import Foundation
import Testing

@testable import StorePostgreSQL

/// The server that `deploy/test postgres` starts.
enum PrivateServer {
    private static let environment = ProcessInfo.processInfo.environment

    /// Its folder; nil = there is none.
    private static let folder = Self.environment["PUSHLINE_TEST_POSTGRES"]

    static var isThere: Bool { self.folder != nil }

    static func file(_ name: String) throws -> String { "\(try #require(self.folder))/\(name)" }

    /// Makes a schema without tables.
    ///
    /// - Returns: The address by which the programs find it.
    static func newSchema() throws -> String {
        let ports = try String(contentsOfFile: self.file("ports"), encoding: .utf8).split(separator: "\n")
        let certificate = try self.file("server.crt").replacing(" ", with: "%20")
        let place = "127.0.0.1:\(ports[0])/postgres?sslmode=verify-full&sslrootcert=\(certificate)"
        let schema = "c" + UUID().uuidString.replacing("-", with: "").lowercased()
        _ = try self.run("CREATE SCHEMA \(schema)", at: "postgresql://owner@\(place)")
        // A database of its own for each would take seconds; connections of a test are known by their role.
        let role = "r\(schema)"
        let password = try String(contentsOfFile: self.file("password"), encoding: .utf8)
        _ = try self.run(
            "CREATE ROLE \(role) LOGIN PASSWORD '\(password.trimmingCharacters(in: .newlines))'",
            at: "postgresql://owner@\(place)"
        )
        return "postgresql://\(role)@\(place)&options=-csearch_path%3D\(schema)"
    }

    /// Runs a statement.
    ///
    /// - Returns: The connection.
    static func run(_ text: String, at url: String) throws -> Wire {
        let addresses = try ServerAddresses(url, passwordFile: self.file("password"))
        let wire = try Servers(addresses, Deadlines(), .migration).connect().wire
        _ = try wire.exchange([PostgreSQLStatement(text)], until: .now + .seconds(30))
        return wire
    }
}
