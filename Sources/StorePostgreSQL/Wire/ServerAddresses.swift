import CPostgreSQL
import Foundation
package import Store

/// Where the servers of one store are, as libpq's connection parameters; each is connected to by itself.
package struct ServerAddresses: Sendable {
    /// The parameters of a connection to each.
    let servers: [[String: String]]
    /// Holds the password alone; nil = libpq's own ways, without a password in the address.
    ///
    /// It is read for each connection, so that it may be changed.
    let passwordFile: String?

    /// Of connections for which the address does not say otherwise: a host that is silent for five seconds is gone.
    ///
    /// What a server has not read yet has our deadlines alone (no `tcp_user_timeout`): one that waits for a lock does not read.
    private static let standard = [
        "application_name": "pushline", "keepalives_idle": "2", "keepalives_interval": "1", "keepalives_count": "3",
        // With a ticket of Kerberos it would take the place of TLS.
        "gssencmode": "disable",
    ]

    /// - Parameters:
    ///   - address: As libpq reads it: `postgresql://one,two/database?sslrootcert=...`, or `host=one,two dbname=database ...`.
    ///   - passwordFile: A file that holds the password and nothing else.
    /// - Throws: ``StoreError``, which does not repeat the address: somebody may have put a password into it.
    package init(_ address: String, passwordFile: String? = nil) throws(StoreError) {
        var parameters = Self.standard.merging(try Self.parameters(of: address)) { $1 }
        for secret in ["password", "sslpassword"] where parameters[secret] != nil {
            throw StoreError(.unavailable, "the store's address must not hold a \(secret): put it into a file")
        }
        // Its file would say after us where the servers are, and how they are reached.
        guard parameters["service"] == nil else {
            throw StoreError(.unavailable, "the store's address must name its servers itself, not a service of libpq's")
        }
        // Which of the servers takes writes is found out here.
        parameters["target_session_attrs"] = "any"
        parameters["client_encoding"] = "UTF8"
        let (hosts, addresses) = (Self.list(parameters["host"]), Self.list(parameters["hostaddr"]))
        let ports = Self.list(parameters["port"])
        let count = max(hosts.count, addresses.count, 1)
        let areEven = hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count
        guard areEven, ports.count <= 1 || ports.count == count else {
            throw StoreError(.unavailable, "the store's address has different numbers of hosts, addresses and ports")
        }
        self.passwordFile = passwordFile
        self.servers = (0..<count).map { index in
            var server = parameters
            server["host"] = hosts.isEmpty ? nil : hosts[index].nonEmpty
            server["hostaddr"] = addresses.isEmpty ? nil : addresses[index].nonEmpty
            server["port"] = ports.isEmpty ? nil : ports[ports.count == 1 ? 0 : index].nonEmpty
            server["sslmode"] = parameters["sslmode"] ?? (Self.isHere(server) ? "prefer" : "verify-full")
            return server
        }
    }

    /// The same servers, of the same database, as another role sees them.
    ///
    /// - Parameters:
    ///   - role: Its name.
    ///   - passwordFile: A file that holds its password and nothing else.
    /// - Returns: The addresses.
    package func connecting(as role: String, passwordFile: String?) -> ServerAddresses {
        ServerAddresses(
            servers: self.servers.map { $0.merging(["user": role]) { $1 } },
            passwordFile: passwordFile
        )
    }

    private init(servers: [[String: String]], passwordFile: String?) {
        (self.servers, self.passwordFile) = (servers, passwordFile)
    }

    /// The role that the address names; nil = libpq's own ways find one.
    package var role: String? { self.servers[0]["user"] }

    /// The `sslmode` of a server on another host by which it need not prove its name; nil = it must, or is on this host.
    func weakMode(of server: Int) -> String? {
        let parameters = self.servers[server]
        guard let mode = parameters["sslmode"], mode != "verify-full", !Self.isHere(parameters) else { return nil }
        return mode
    }

    /// The parameters of a connection, with the password.
    ///
    /// - Parameters:
    ///   - server: Its place.
    ///   - settings: What holds for the session, unless the address says otherwise.
    /// - Returns: The parameters.
    /// - Throws: ``StoreError`` where the password's file cannot be read, or is empty.
    func parameters(of server: Int, settings: String) throws(StoreError) -> [String: String] {
        var parameters = self.servers[server]
        parameters["options"] = [settings, parameters["options"]].compactMap(\.self).joined(separator: " ")
        guard let file = self.passwordFile else { return parameters }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw StoreError(.unavailable, "the file of the store's password cannot be read: \(file)")
        }
        let password = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)
        // libpq would look elsewhere for another.
        guard !password.isEmpty else {
            throw StoreError(.unavailable, "the file of the store's password is empty: \(file)")
        }
        parameters["password"] = password
        return parameters
    }

    /// The name of a server's host, where it must be looked up.
    func hostName(of server: Int) -> String? {
        let parameters = self.servers[server]
        guard parameters["hostaddr"] == nil, let host = parameters["host"] else { return nil }
        // Others are paths of sockets.
        return host.hasPrefix("/") || host.hasPrefix("@") ? nil : host
    }

    /// A server's name for the log.
    func name(of server: Int) -> String {
        let parameters = self.servers[server]
        return "\(parameters["host"] ?? parameters["hostaddr"] ?? "this host"):\(parameters["port"] ?? "5432")"
    }

    private static func list(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// Whether a server is on this host, so that nobody can listen on the way; one that the environment names may be anywhere.
    private static func isHere(_ server: [String: String]) -> Bool {
        guard let host = server["hostaddr"] ?? server["host"] else { return false }
        return host.hasPrefix("/") || ["127.0.0.1", "::1", "localhost"].contains(host)
    }

    private static func parameters(of address: String) throws(StoreError) -> [String: String] {
        guard let options = unsafe PQconninfoParse(address, nil) else {
            throw StoreError(
                .unavailable,
                "the store's address cannot be read: it is like postgresql://host1,host2/database?sslrootcert=FILE"
            )
        }
        defer { unsafe PQconninfoFree(options) }
        var parameters: [String: String] = [:]
        var next = unsafe options
        while let keyword = unsafe next.pointee.keyword {
            if let value = unsafe next.pointee.val {
                parameters[unsafe String(cString: keyword)] = unsafe String(cString: value)
            }
            unsafe next += 1
        }
        return parameters
    }
}

extension ServerAddresses: CustomStringConvertible {
    /// The servers and the database, without a role.
    package var description: String {
        let names = self.servers.indices.map(self.name(of:)).joined(separator: ", ")
        return "PostgreSQL at \(names), database \(self.servers[0]["dbname"] ?? self.role ?? "of the user's name")"
    }
}

extension String {
    fileprivate var nonEmpty: String? { self.isEmpty ? nil : self }
}
