import Foundation
import HTTPTypes
import Hub
import HubAzure
import HummingbirdTesting
import Logging
import NIOCore
import PushModel
import PushlineSimulator
import RawHTTP
import Store
import Testing

/// A hub of the default app over a store: the embedded one, or the same one through its server and a client of the wire.
struct AnyHub: Sendable {
    enum Kind: CaseIterable { case embedded, azure }

    let hub: any NotificationHub
    let store: any ResultStore
    private let spec: AppSpec

    static func run(_ kind: Kind, _ body: @Sendable @escaping (AnyHub) async throws -> Void) async throws {
        try await HubHarness.run { harness in
            switch kind {
            case .embedded: try await body(AnyHub(hub: harness.hub, store: harness.store, spec: AppSpec()))
            case .azure: try await Self.runServed(harness, body)
            }
        }
    }

    private static func runServed(_ harness: HubHarness, _ body: @Sendable (AnyHub) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "any-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let material = try KeyMaterial.load(folder: nil)
        let trust = folder.appending(path: "authority.pem")
        try Data(material.authorityPEM.utf8).write(to: trust)
        let tls = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false)
        let hubs = AzureHubs(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let result: Result<Void, any Error>
        do {
            try await RawServer.run(.tls(tls), react: { await Self.forward($0, to: harness.client) }) { server in
                let connection = folder.appending(path: "connection")
                let key = try #require(HubHarness.keys["Full"])
                let text = "Endpoint=sb://localhost:\(server.port)/;SharedAccessKeyName=Full;SharedAccessKey=\(key)"
                try Data(text.utf8).write(to: connection)
                var spec = AppSpec()
                let declaration = AppSpec.AzureHub {
                    $0.connectionStringFile = connection.path
                    $0.name = "default"
                    $0.trustFile = trust.path
                }
                spec.azureHub = declaration
                try await body(AnyHub(hub: try hubs.hub(declaration), store: harness.store, spec: spec))
            }
            result = .success(())
        } catch { result = .failure(error) }
        await hubs.close()
        try result.get()
    }

    /// Every client of the wire insists on TLS: it ends here.
    private static func forward(_ request: RawServer.Request, to client: any TestClientProtocol) async
        -> RawServer.Reply
    {
        var fields = HTTPFields()
        for (name, value) in request.headers {
            guard !["host", "content-length", "connection", "transfer-encoding"].contains(name.lowercased()),
                let name = HTTPField.Name(name)
            else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        do {
            let method = try #require(HTTPRequest.Method(request.method))
            let response = try await client.executeRequest(
                uri: request.target,
                method: method,
                headers: fields,
                body: ByteBuffer(bytes: request.body)
            )
            let headers = response.headers
                .filter { !["content-length", "connection", "transfer-encoding"].contains($0.name.canonicalName) }
                .map { ($0.name.rawName, $0.value) }
            return .answer(response.status.code, headers, body: Array(buffer: response.body))
        } catch {
            Issue.record(error)
            return .cut(after: [])
        }
    }

    /// Makes a change as the register worker does, until all of it is done.
    func register(_ request: RegisterRequest, by user: String) async throws -> RegisterResult? {
        let accepted = try await self.store.accept([
            NewJob(
                app: .default,
                user: try UserName(user, .folded),
                work: .register(request),
                lifetime: .seconds(3600)
            )
        ])
        guard case .accepted(let job)? = accepted.answers.first else { throw InvalidValue("the job is not accepted") }
        while true {
            if let result = try await self.hub.register(request, for: job, spec: self.spec) { return result }
        }
    }
}
