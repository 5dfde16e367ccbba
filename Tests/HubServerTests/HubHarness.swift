import Broker
import Foundation
import HTTPTypes
import Hub
import HubWire
import Hummingbird
import HummingbirdCore
import HummingbirdTesting
import Intake
import Logging
import NIOCore
import Pipeline
import PushModel
import PushlineTracing
import ServiceLifecycle
import Settings
import Store
import StoreSQLite
import Testing
import WebServing

@testable import HubServer

/// The wire of a hub over a store in a folder of its own and a broker in memory, with a worker for registrations.
struct HubHarness: Sendable {
    let store: any ResultStore
    let client: any TestClientProtocol
    /// The hub that is served.
    let hub: EmbeddedHub
    let front: HubFront

    /// The store's file.
    let path: String

    /// The keys of the rules, by their names.
    static let keys = ["Full": "full-key==", "Listen": "listen-key==", "Send": "send-key=="]

    static func run(
        spec: AppSpec = AppSpec(),
        answers: Bool = true,
        backlog: Int? = nil,
        commitWait: Duration = .seconds(60),
        logger: Logger? = nil,
        traces: Traces = .off,
        served: @Sendable (EmbeddedHub) -> any ServedHub = { $0 },
        _ body: @Sendable @escaping (HubHarness) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-hub-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "store.sqlite").path
        let store: any ResultStore = try await SQLiteStore.open(
            SQLiteStore.Configuration(path: path, maximumBacklog: backlog)
        )
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        _ = try await store.apply(.app(.default, spec))
        for (name, rights) in [
            ("Full", Set(HubRule.Right.allCases)), ("Listen", [.listen]), ("Send", [.send]),
        ] {
            let key = try #require(Self.keys[name])
            let rule = HubRule(
                app: .default,
                name: name,
                rights: rights,
                primaryKey: key,
                secondaryKey: "second-\(key)",
                created: .now
            )
            try await store.apply(.hubRule(.add(rule)))
        }
        var quiet = Logger(label: "test")
        quiet.logLevel = .critical
        var configuration = HubConfiguration(ServingLimits(), intake: IntakeLimits())
        configuration.serving.accessLog = logger != nil
        let logger = logger ?? quiet
        configuration.directoryLifetime = .zero
        configuration.commitWait = commitWait
        configuration.serving.settings.classicWait = answers ? .seconds(30) : .milliseconds(100)
        let intake = JobIntake(store: store, broker: broker, limits: configuration.intake, logger: logger)
        let registrations = EmbeddedRegistrations(store: store)
        let hub = EmbeddedHub(store: store, intake: intake, registrations: registrations)
        let server = HubWireServer(
            configuration: configuration,
            intake: intake,
            hub: served(hub),
            store: store,
            traces: traces,
            logger: logger
        )
        let application = Application(
            responder: server.responder,
            server: HTTPServerBuilder { responder in
                let handlers = HTTP1Channel.Configuration(additionalChannelHandlers: [EarlyResponseHandler()])
                return RetainedConnections(HTTP1Channel(responder: responder, configuration: handlers))
            },
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            services: server.services
                + (answers ? [RegisterHub(store: store, broker: broker, spec: spec)] : []),
            logger: logger
        )
        try await application.test(.live) { client in
            let front = server.responder.front
            try await body(HubHarness(store: store, client: client, hub: hub, front: front, path: path))
        }
    }

    /// The searches of audiences under way.
    var searches: FairPermits { self.front.sends.tests.searches }

    /// An answer, read.
    struct Answer: Sendable {
        let status: Int
        let headers: HTTPFields
        let bytes: [UInt8]

        var text: String { String(decoding: self.bytes, as: UTF8.self) }

        func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { self.headers[$0] } }

        /// The description within the entry.
        var registration: WireRegistration { get throws { try WireRegistration(reading: self.bytes) } }

        /// The registrations of a feed.
        var registrations: [WireRegistration] {
            get throws {
                let feed = try XMLReader.read(self.bytes)
                #expect(feed.name == "feed")
                return try feed.elements.filter { $0.name == "entry" }.map { entry in
                    let description = try #require(entry.first("content")?.elements.first)
                    return try WireRegistration(reading: description.bytes)
                }
            }
        }

        /// The element of the answer's XML.
        func element(_ name: String) throws -> String? { try XMLReader.read(self.bytes).first(name)?.text }
    }

    /// Sends a request as a rule, as the Java client signs it: with the whole address.
    func call(
        _ method: HTTPRequest.Method,
        _ path: String,
        as rule: String? = "Full",
        body: String? = nil,
        bytes: [UInt8]? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        var fields = HTTPFields()
        if let rule { fields[.authorization] = try self.token(of: rule, for: path) }
        for (name, value) in headers { fields[try #require(HTTPField.Name(name))] = value }
        let response = try await self.client.executeRequest(
            uri: path,
            method: method,
            headers: fields,
            body: bytes.map { ByteBuffer(bytes: $0) } ?? body.map { ByteBuffer(string: $0) }
        )
        return Answer(status: response.status.code, headers: response.headers, bytes: Array(buffer: response.body))
    }

    /// What a client of the rule puts into `Authorization`.
    func token(of rule: String, for path: String) throws -> String {
        let port = self.client.port.map { ":\($0)" } ?? ""
        return SASToken.make(
            audience: "https://localhost\(port)\(path)",
            rule: rule,
            key: try #require(Self.keys[rule]),
            expires: Timestamp.now.advanced(by: .seconds(600))
        )
    }

    /// The send of the job that an answer's `Location` names.
    func job(of answer: Answer) async throws -> Job {
        let location = try #require(answer.header("Location"))
        let id = try #require(location.prefix { $0 != "?" }.split(separator: "/").last.flatMap { JobID(String($0)) })
        return try #require(try await self.store.job(id, app: .default))
    }

    func send(of answer: Answer) async throws -> SendRequest {
        guard case .send(let send) = try await self.job(of: answer).work else {
            throw InvalidValue("the job is no send")
        }
        return send
    }

    static let token = String(repeating: "AB", count: 32)

    /// A description as the clients for Java, JavaScript and iOS write it.
    static func apple(_ token: String = Self.token, tags: String = "") -> String {
        """
        <?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
        <AppleRegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" xmlns="\(WireNames.connect)">\
        <Tags>\(tags)</Tags><DeviceToken>\(token)</DeviceToken></AppleRegistrationDescription></content></entry>
        """
    }
}

/// Does what the register worker does.
struct RegisterHub: Service {
    let store: any ResultStore
    let broker: any MessageBroker
    let spec: AppSpec

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for priority in Priority.allCases { group.addTask { try await self.work(priority) } }
                try await group.waitForAll()
            }
        }
    }

    private func work(_ priority: Priority) async throws {
        try await self.broker.consume(queue: QueueName.work(.register, priority), prefetch: 10) { subscription in
            while let delivery = try await subscription.next() {
                if let id = MessageID(delivery.properties.messageID) { try await self.register(id) }
                await subscription.acknowledge([delivery])
            }
        }
    }

    private func register(_ message: MessageID) async throws {
        for job in try await self.store.registerJobs(of: message) {
            guard case .register(let request) = job.work else { continue }
            let hub = EmbeddedRegistrations(store: self.store)
            guard let result = try await hub.register(request, for: job, spec: self.spec) else { continue }
            guard let waiter = try await self.store.finishRegister(job.id, result: result) else { continue }
            let event = OutgoingMessage(eventFor: job.id, waiter: waiter)
            _ = await self.broker.publish([event], deadline: .seconds(1))
        }
    }
}
