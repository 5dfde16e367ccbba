import Authentication
package import Foundation
package import HubWire
package import PushModel
import PushlineSimulator
import Store

/// How to call the hub of an installation: over TLS, with a rule that may do everything.
package struct HubAccess: Sendable {
    package let port: Int
    /// The authority of its certificate, PEM.
    package let authority: String
    package let connection: ConnectionString
    /// The hub's name, an app's.
    package var name = AppID.default.name

    /// The hub of another app at the same port.
    package func of(_ app: String, _ connection: ConnectionString) -> HubAccess {
        HubAccess(port: self.port, authority: self.authority, connection: connection, name: app)
    }

    /// A value of `Authorization` that is good for ten minutes.
    package var token: String {
        SASToken.make(
            audience: self.connection.endpoint,
            rule: self.connection.rule,
            key: self.connection.key,
            expires: Timestamp.now.advanced(by: .seconds(600))
        )
    }

    /// A request of HTTP/1.1 with a token, for a raw connection.
    package func request(_ method: String, _ path: String, body: String = "", _ fields: String...) -> String {
        let lines =
            [
                "\(method) /\(self.name)\(path) HTTP/1.1", "Host: \(self.connection.authority)",
                "Authorization: \(self.token)",
            ] + fields + ["Content-Length: \(body.utf8.count)"]
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }
}

extension EndToEndInstallation {
    /// Starts `pushline-hub` with a certificate for localhost.
    ///
    /// - Parameters:
    ///   - name: The process, where several of them run.
    ///   - environment: Further settings of it.
    /// - Returns: How to call it; it serves.
    /// - Throws: What the store or the program says.
    package func startHub(
        as name: String = "hub",
        environment: [String: String] = [:]
    ) async throws -> HubAccess {
        let material = try KeyMaterial.load(folder: nil)
        let (certificate, key) = (
            self.folder.appending(path: "\(name).pem"), self.folder.appending(path: "\(name).key")
        )
        try Data(material.serverPEM.utf8).write(to: certificate)
        try Data(material.serverKeyPEM.utf8).write(to: key)
        let port = try await FreePort.find()
        let connection = try await self.addRule(name, of: AppID.default.name, at: port)
        let settings = [
            "PUSHLINE_HUB_PORT": "\(port)", "PUSHLINE_HUB_CERTIFICATE_FILE": certificate.path,
            "PUSHLINE_HUB_KEY_FILE": key.path,
        ]
        try self.start("hub", as: name, environment: settings.merging(environment) { $1 })
        try await eventually("the hub serves") { try await self.hasServed(name) }
        return HubAccess(
            port: port,
            authority: material.authorityPEM,
            connection: connection
        )
    }
}

extension EndToEndInstallation {
    /// Declares another app, and makes an operator's key of it.
    package func addApp(_ name: String, _ spec: AppSpec) async throws -> String {
        let (store, app) = (try await Self.openStore(self.environment), try AppID(name))
        _ = try await store.apply(.app(app, spec))
        let secret = APIKeySecret.make()
        let key = APIKey(app: app, name: "test", role: .operator, created: .now, revoked: nil)
        try await store.apply(.key(.add(key, hash: secret.hash)))
        return secret.text
    }

    /// Makes a rule of an app's hub that may do everything, and the connection string for the hub at a port.
    package func addRule(_ name: String, of app: String, at port: Int) async throws -> ConnectionString {
        let rule = HubRule(
            app: try AppID(app),
            name: name,
            rights: Set(HubRule.Right.allCases),
            primaryKey: HubKey.make(),
            secondaryKey: HubKey.make(),
            created: .now
        )
        try await Self.openStore(self.environment).apply(.hubRule(.add(rule)))
        return ConnectionString(authority: "localhost:\(port)", rule: rule.name, key: rule.primaryKey)
    }

    /// Adds users to an app besides the default one, with the same password as all.
    package func add(users: [String], to app: String) async throws {
        try await Self.add(users, to: try await Self.openStore(self.environment), app: try AppID(app))
    }

    /// A path in the installation's own folder.
    package nonisolated func file(_ name: String) -> URL { self.folder.appending(path: name) }
}
