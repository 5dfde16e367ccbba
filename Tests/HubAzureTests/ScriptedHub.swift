import Foundation
import HubAzure
import HubWire
import Logging
import NIOConcurrencyHelpers
import NIOHTTP1
import NIOPosix
import OutgoingHTTP
import PushModel
import PushlineSimulator
import RawHTTP
import Testing

/// A hub that answers what a test says, one after the other, and keeps what it was asked.
struct ScriptedHub: Sendable {
    static let key = "c2VjcmV0LWtleS13aXRoLWJhc2U2NC1wYWRkaW5n="
    static let start = Timestamp(milliseconds: 1_800_000_000_000)

    private struct State {
        var replies: [RawServer.Reply] = []
        var requests: [RawServer.Request] = []
        var now = ScriptedHub.start
    }

    private let state: NIOLockedValueBox<State>
    /// As a client has it.
    let hub: AzureHub
    let connection: ConnectionString

    var requests: [RawServer.Request] { self.state.withLockedValue(\.requests) }
    /// The only request.
    var request: RawServer.Request {
        get throws {
            try #require(self.requests.count == 1)
            return self.requests[0]
        }
    }
    var now: Timestamp { self.state.withLockedValue(\.now) }

    func answer(_ replies: RawServer.Reply...) { self.state.withLockedValue { $0.replies += replies } }

    /// Lets the client's clock go on.
    func wait(_ time: Duration) { self.state.withLockedValue { $0.now = $0.now.advanced(by: time) } }

    /// Runs one that gives these replies.
    static func with(
        _ replies: RawServer.Reply...,
        configure: (inout AzureHubConfiguration) -> Void = { _ in },
        _ body: (ScriptedHub) async throws -> Void
    ) async throws {
        let material = try KeyMaterial.load(folder: nil)
        let tls = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false)
        let state = NIOLockedValueBox(State(replies: replies))
        let react: @Sendable (RawServer.Request) async -> RawServer.Reply = { request in
            let reply = state.withLockedValue { state in
                state.requests.append(request)
                return state.replies.isEmpty ? nil : state.replies.removeFirst()
            }
            if reply == nil { Issue.record("the test has no answer for \(request.method) \(request.target)") }
            return reply ?? .cut(after: [])
        }
        try await RawServer.run(.tls(tls), react: react) { server in
            try await self.client(of: server.port, state, configure, body)
        }
        #expect(state.withLockedValue(\.replies).isEmpty, "the client did not ask for all answers")
    }

    /// A client of whatever is behind a port.
    static func withClient(
        of port: Int,
        at host: String = "127.0.0.1",
        configure: (inout AzureHubConfiguration) -> Void = { _ in },
        _ body: (ScriptedHub) async throws -> Void
    ) async throws {
        try await self.client(of: port, at: host, NIOLockedValueBox(State()), configure, body)
    }

    private static func client(
        of port: Int,
        at host: String = "127.0.0.1",
        _ state: NIOLockedValueBox<State>,
        _ configure: (inout AzureHubConfiguration) -> Void,
        _ body: (ScriptedHub) async throws -> Void
    ) async throws {
        let trustFile = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID().uuidString).pem")
        try Data(KeyMaterial.load(folder: nil).authorityPEM.utf8).write(to: trustFile)
        defer { try? FileManager.default.removeItem(at: trustFile) }
        var configuration = AzureHubConfiguration()
        configuration.trustFile = trustFile.path
        configure(&configuration)
        let client = AzureHub.client(on: .singletonMultiThreadedEventLoopGroup, configuration: configuration)
        let connection = ConnectionString(authority: "\(host):\(port)", rule: "Full", key: self.key)
        let hub = AzureHub(
            connection,
            name: "shop",
            client: client,
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { state.withLockedValue(\.now) }
        )
        let result: Result<Void, any Error>
        do { result = .success(try await body(ScriptedHub(state: state, hub: hub, connection: connection))) } catch {
            result = .failure(error)
        }
        await client.close()
        try result.get()
    }

    private init(state: NIOLockedValueBox<State>, hub: AzureHub, connection: ConnectionString) {
        (self.state, self.hub, self.connection) = (state, hub, connection)
    }
}

extension RawServer.Reply {
    /// An answer of XML, as hubs give it.
    static func xml(_ status: Int, _ text: String, _ headers: [(String, String)] = []) -> RawServer.Reply {
        .answer(status, headers + [("Content-Type", WireNames.xml)], body: Array(text.utf8))
    }

    /// A refusal with these words.
    static func refusal(_ status: Int, _ words: String = "", _ headers: [(String, String)] = []) -> RawServer.Reply {
        .xml(status, "<Error><Code>\(status)</Code><Detail>\(words)</Detail></Error>", headers)
    }
}

extension RawServer.Request {
    /// The only value of a header.
    subscript(name: String) -> String? {
        let values = self.headers[name]
        #expect(values.count < 2, "\(name)")
        return values.first
    }

    var text: String { String(decoding: self.body, as: UTF8.self) }
    var token: SASToken? { self["Authorization"].flatMap(SASToken.init(header:)) }
}

/// The error of a call that must have one.
func failure(
    _ location: SourceLocation = #_sourceLocation,
    _ call: () async throws -> Void
) async throws -> AzureHubError {
    try #require(await #expect(throws: AzureHubError.self, sourceLocation: location) { try await call() })
}

extension RawServer.Reply {
    /// A page of registrations.
    static func feed(_ registrations: [WireRegistration], next: String? = nil) -> RawServer.Reply {
        let feed = WireFeed(title: "Registrations", address: "https://h/shop/registrations", updated: .now)
        let place = WireRegistration.Place(address: "https://h/shop/registrations/1", updated: .now)
        return .answer(
            200,
            [("Content-Type", WireNames.feed)] + (next.map { [("X-MS-ContinuationToken", $0)] } ?? []),
            body: feed.bytes(registrations.map { ($0, place) })
        )
    }
}
