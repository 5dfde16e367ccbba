import Authentication
import Broker
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import Logging
import NIOCore
import PushModel
import PushlineTracing
import Settings
import Store
import StoreSQLite
import Testing

@testable import HTTPAPI
@testable import WebServing

/// The API over a store in a folder of its own and a broker in memory, with a small worker that stands for the hub.
struct Harness: Sendable {
    let store: any ResultStore
    let broker: InMemoryBroker
    let passwords: PasswordVerifier
    let front: APIFront
    let client: any TestClientProtocol

    static let cheap = PasswordHash.Cost(rounds: 2, blockSize: 8, parallelism: 1)

    /// How a test's installation is.
    struct Options: Sendable {
        var spec = AppSpec { $0.reservedTags = ["vip-"] }
        var configuration: APIConfiguration = {
            var configuration = APIConfiguration()
            configuration.directoryLifetime = .zero
            configuration.settings.page = true
            // Whatever else the machine has to do.
            configuration.settings.classicWait = .seconds(60)
            configuration.settings.requestTime = .seconds(600)
            return configuration
        }()
        /// What the worker does with sends.
        var hub = FakeHub.Habit.takes
        var backlog: Int?
        /// Bytes of the disk that uploads leave alone.
        var reserve = 0
        var setup = TestingSetup.router
        var traces = Traces.off
        /// Whose port it is.
        var front = SessionKind.page
        /// Where it logs.
        var logger: Logger = {
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            return logger
        }()
    }

    /// The users alice and bob, the account desk (sender), the account root (operator), and keys of each role; an app
    /// `other` with a user alice of its own.
    static func run(
        _ options: Options = Options(),
        _ body: @Sendable @escaping (Harness) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-api-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store: any ResultStore = try await SQLiteStore.open(
            SQLiteStore.Configuration(
                path: folder.appending(path: "store.sqlite").path,
                maximumBacklog: options.backlog,
                reserve: options.reserve
            )
        )
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        try await Self.populate(store, spec: options.spec)
        let logger = options.logger
        let passwords = PasswordVerifier(decoy: try PasswordHash.make("a decoy of nobody", cost: Self.cheap))
        let api = API(
            configuration: options.configuration,
            store: store,
            broker: broker,
            traces: options.traces,
            logger: logger,
            passwords: passwords,
            metricsText: { "up 1\n" }
        )
        let responder = options.front == .page ? api.responder : api.console
        let application = Application(
            responder: responder,
            server: HTTPServerBuilder { responder in
                RetainedConnections(HTTP1Channel(responder: responder, configuration: Self.server))
            },
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            services: api.services + [FakeHub(store: store, broker: broker, habit: options.hub)],
            logger: logger
        )
        try await application.test(options.setup) { client in
            let harness = Harness(
                store: store,
                broker: broker,
                passwords: passwords,
                front: responder.front,
                client: client
            )
            try await body(harness)
        }
    }

    /// As the program configures it, but for smaller headers.
    private static var server: HTTP1Channel.Configuration {
        HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                HTTPParserErrorHandler(headerSize: 1000), EarlyResponseHandler(timeout: .milliseconds(200)),
            ],
            httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                maxHeaderFieldSize: 1000,
                maxHeaderListSize: 1000,
                maxHeaderFieldCount: HTTPParserErrorHandler.headerCount
            )
        )
    }

    private static func populate(_ store: any ResultStore, spec: AppSpec) async throws {
        let other = try AppID("other")
        _ = try await store.apply(.app(.default, spec))
        _ = try await store.apply(.app(other, AppSpec()))
        let accounts: [(AppID, String, Role)] = [
            (.default, "alice", .user), (.default, "bob", .user), (.default, "desk", .sender),
            (.default, "root", .operator),
            (other, "alice", .user),
        ]
        for (app, name, role) in accounts {
            let account = Account(
                app: app,
                name: try UserName(name, .folded),
                role: role,
                isDisabled: false,
                created: .now
            )
            let password = app == other ? "other-password" : "\(name)-password"
            try await store.apply(.account(.put(account, passwordHash: PasswordHash.make(password, cost: Self.cheap))))
        }
    }

    /// Who calls.
    enum As: Sendable {
        case nobody
        /// With the right password.
        case user(String)
        case basic(String, String)
        case bearer(String)
        case header(String)

        var header: String? {
            switch self {
            case .nobody: nil
            case .user(let name): As.basic(name, "\(name)-password").header
            case .basic(let name, let password): "Basic \(Data("\(name):\(password)".utf8).base64EncodedString())"
            case .bearer(let secret): "Bearer \(secret)"
            case .header(let text): text
            }
        }
    }

    var table: RouteTable { self.front.table }

    /// An answer, read.
    struct Answer: Sendable {
        let status: Int
        let headers: HTTPFields
        let bytes: [UInt8]

        var text: String { String(decoding: self.bytes, as: UTF8.self) }
        var json: JSONValue { (try? JSONReader.read(self.bytes)) ?? .null }
        /// The members that a problem response names.
        var wrongMembers: [String] {
            self.json["errors"]?.elements.compactMap { $0["member"]?.text } ?? []
        }
    }

    func call(
        _ method: HTTPRequest.Method,
        _ path: String,
        as caller: As = .user("alice"),
        body: String? = nil,
        bytes: [UInt8]? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        var fields = HTTPFields()
        fields[.authorization] = caller.header
        for (name, value) in headers {
            fields[try #require(HTTPField.Name(name))] = value
        }
        let buffer = bytes.map { ByteBuffer(bytes: $0) } ?? body.map { ByteBuffer(string: $0) }
        let response = try await self.client.executeRequest(uri: path, method: method, headers: fields, body: buffer)
        return Answer(status: response.status.code, headers: response.headers, bytes: Array(buffer: response.body))
    }

    /// A key of the default app.
    func key(_ role: Role, name: String = "backend") async throws -> As {
        let secret = APIKeySecret.make()
        let key = APIKey(app: .default, name: name, role: role, created: .now, revoked: nil)
        try await self.store.apply(.key(.add(key, hash: secret.hash)))
        return .bearer(secret.text)
    }

    /// The next message that waits in a queue, where no worker takes any.
    func message(in queue: WorkQueue, _ priority: Priority = .normal) async throws -> MessageID {
        try await self.broker.consume(queue: QueueName.work(queue, priority), prefetch: 1) { subscription in
            let delivery = try #require(try await subscription.next())
            await subscription.acknowledge([delivery])
            return try #require(MessageID(delivery.properties.messageID))
        }
    }

    /// The send of a job, as the store has it for its worker: of many tags the first.
    func request(of job: JobID) async throws -> SendRequest {
        while true {
            let message = try await self.message(in: .send)
            let claim = try #require(try await self.store.claim(message, peeking: true))
            switch claim.work {
            case .group(let sends, _):
                if let send = sends.first(where: { $0.id == job }) { return send.request }
            case .campaign(let campaign) where campaign.job.id == job:
                return campaign.request
            case .campaign, nil: break
            }
        }
    }

    /// Registers a device as an app does, and returns its id.
    func register(
        as caller: As = .user("alice"),
        platform: String = "apns",
        handle: String = String(repeating: "ab", count: 32),
        tags: String = "[]"
    ) async throws -> String {
        let issued = try await self.call(.post, "/api/register", as: caller)
        let id = String(issued.text.dropFirst().dropLast())
        let put = try await self.call(
            .put,
            "/api/register/\(id)",
            as: caller,
            body: #"{"Platform":"\#(platform)","Handle":"\#(handle)","Tags":\#(tags)}"#
        )
        #expect(put.status == 200, "\(put.text)")
        return id
    }
}

extension JSONValue {
    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    var text: String? { if case .string(let text) = self { text } else { nil } }

    var number: Double? { if case .number(let text) = self { Double(text) } else { nil } }

    var elements: [JSONValue] { if case .array(let values) = self { values } else { [] } }
}
