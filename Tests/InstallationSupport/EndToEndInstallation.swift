import Authentication
package import Foundation
import Installation
import Logging
package import PushModel
package import PushlineSimulator
import Store
import TestStores

#if canImport(FoundationNetworking)
import FoundationNetworking
import Settings
#endif

/// A whole installation of a suite's own: RabbitMQ node, simulator, and the four programs as processes.
package actor EndToEndInstallation {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// An answer of the API.
    package struct Answer: Sendable {
        package let status: Int
        package let headers: [String: String]
        package let body: Data

        package func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(Value.self, from: self.body)
        }
    }

    /// What the tests look at in a job.
    package struct JobAnswer: Decodable, Sendable {
        package struct Counts: Decodable, Sendable {
            package let targets: Int
            package let accepted: Int
            package let failed: [String: Int]
            package let expired: Int
            package let cancelled: Int

            package var outcomes: Int {
                self.accepted + self.expired + self.cancelled + self.failed.values.reduce(0, +)
            }
        }

        package let id: String
        package let state: String
        package let isFinal: Bool
        package let due: String?
        package let reason: String?
        package let totals: Counts
    }

    @TaskLocal package static var current: EndToEndInstallation?

    package static let programs = ["api", "register-worker", "send-worker", "delivery-worker"]
    package static let password = "correct horse"

    package nonisolated let simulator: Simulator
    package nonisolated let senderKey: String
    nonisolated let folder: URL
    package nonisolated let environment: [String: String]
    package nonisolated let port: Int
    private var processes: [String: Process] = [:]

    private init(simulator: Simulator, senderKey: String, folder: URL, environment: [String: String], port: Int) {
        self.simulator = simulator
        self.senderKey = senderKey
        self.folder = folder
        self.environment = environment
        self.port = port
    }

    /// Starts everything: an app, three users and a sender's key are there.
    ///
    /// - Parameters:
    ///   - broker: The URL of a RabbitMQ node.
    ///   - simulator: In place of the push services.
    ///   - environment: Settings of all programs, such as `PUSHLINE_API_IN_FLIGHT`.
    /// - Returns: The installation, whose API serves.
    /// - Throws: What a program, the store or the node says.
    package static func start(
        broker: String,
        simulator: Simulator,
        environment: [String: String] = [:]
    ) async throws -> EndToEndInstallation {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pushline-e2e-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let port = try await FreePort.find()
        let environment = [
            "PUSHLINE_BROKER_URL": broker,
            "PUSHLINE_API_PORT": "\(port)",
            "PUSHLINE_WORKERS_REGISTER_PORT": "0",
            "PUSHLINE_WORKERS_SEND_PORT": "0",
            "PUSHLINE_WORKERS_DELIVERY_PORT": "0",
        ].merging(try TestStore.settings(in: folder)) { $1 }.merging(environment) { $1 }
        let key = try await Self.declare(environment, app: try simulator.appSpec)
        let installation = EndToEndInstallation(
            simulator: simulator,
            senderKey: key,
            folder: folder,
            environment: environment,
            port: port
        )
        for program in Self.programs { try await installation.start(program) }
        try await eventually("the API serves") { try await installation.isServing() }
        return installation
    }

    private static func declare(
        _ environment: [String: String],
        app: AppSpec
    ) async throws -> String {
        let store = try await Self.openStore(environment)
        _ = try await store.apply(.app(.default, app))
        try await Self.add(["alice", "bob", "carol"], to: store)
        let secret = APIKeySecret.make()
        let key = APIKey(app: .default, name: "test", role: .operator, created: .now, revoked: nil)
        try await store.apply(.key(.add(key, hash: secret.hash)))
        return secret.text
    }

    static func add(_ users: [String], to store: any ResultStore, app: AppID = .default) async throws {
        // One hash for all: it takes a quarter of a second.
        let hash = try PasswordHash.make(Self.password)
        for name in users {
            let account = Account(
                app: app,
                name: try UserName(name, .folded),
                role: .user,
                isDisabled: false,
                created: .now
            )
            try await store.apply(.account(.put(account, passwordHash: hash)))
        }
    }

    /// Adds users besides alice, bob and carol, with the same password.
    package func add(users: [String]) async throws {
        try await Self.add(users, to: try await Self.openStore(self.environment))
    }

    /// The process id of a program that runs.
    package func processIdentifier(of program: String) -> Int32? { self.processes[program]?.processIdentifier }

    /// Whether a program that was started has not ended.
    package func isRunning(_ program: String) -> Bool { self.processes[program]?.isRunning ?? false }

    static func openStore(_ environment: [String: String]) async throws -> any ResultStore {
        var logger = Logger(label: "test.store")
        logger.logLevel = .error
        let configuration = try PushlineConfiguration(file: nil, environment: environment)
        return try await Composition.store(configuration).open(logger: logger)
    }

    /// Declares the app anew; the programs see it within two seconds, the limits of its rate at once.
    package func apply(_ app: AppSpec) async throws {
        _ = try await Self.openStore(self.environment).apply(.app(.default, app))
    }

    /// How many dead letters the store has, of the app and of none that is declared.
    package func deadLetters() async throws -> Int {
        let store = try await Self.openStore(self.environment)
        var count = 0
        for app in [AppID.default, nil] {
            count += try await store.deadLetters(DeadLetterQuery(app: app, limit: 100)).items.count
        }
        return count
    }

    // MARK: - Processes

    /// Starts a program, under another name where several of it run, and with more environment than all are given.
    package func start(_ program: String, as name: String? = nil, environment: [String: String] = [:]) throws {
        let name = name ?? program
        let process = Process()
        process.executableURL = Bundle.main.bundleURL.appending(path: "pushline-\(program)")
        process.environment = ProcessInfo.processInfo.environment.merging(self.environment) { $1 }
            .merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let log = self.folder.appending(path: "\(name).log")
        if !FileManager.default.fileExists(atPath: log.path) { try Data().write(to: log) }
        let handle = try FileHandle(forWritingTo: log)
        try handle.seekToEnd()
        process.standardError = handle
        try process.run()
        self.processes[name] = process
    }

    /// Ends a program as a crash would, and waits until it is gone.
    package func kill(_ program: String) async throws {
        guard let process = self.processes.removeValue(forKey: program) else { return }
        process.signal(SIGKILL)
        try await self.end(of: process)
    }

    /// Runs the command line tool on this host, with more environment than all are given.
    ///
    /// - Returns: Its exit status, and all that it printed.
    package func runPushline(
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = Bundle.main.bundleURL.appending(path: "pushline")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(self.environment) { $1 }
            .merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let file = self.folder.appending(path: "pushline-\(UUID().uuidString).log")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        (process.standardOutput, process.standardError) = (handle, handle)
        try process.run()
        try await self.end(of: process)
        return (process.terminationStatus, try String(contentsOf: file, encoding: .utf8))
    }

    /// Whether a program is not running, as after a crash at a point that it was given.
    package func hasEnded(_ program: String) -> Bool { self.processes[program]?.isRunning != true }

    /// Ends a program in order.
    ///
    /// - Returns: Its exit status.
    package func terminate(_ program: String) async throws -> Int32 {
        guard let process = self.processes.removeValue(forKey: program) else { return -1 }
        process.terminate()
        try await self.end(of: process)
        return process.terminationStatus
    }

    private func end(of process: Process) async throws {
        let limit = ContinuousClock.now + .seconds(40)
        while process.isRunning {
            guard ContinuousClock.now < limit else { throw Failure(description: "A process does not end.") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    package func log(of program: String) throws -> String {
        try String(contentsOf: self.folder.appending(path: "\(program).log"), encoding: .utf8)
    }

    /// Whether a program has told that it listens.
    package func hasServed(_ program: String) throws -> Bool {
        try self.log(of: program).split(separator: "\n").contains { $0.contains(" served ") }
    }

    package func stop() async throws {
        for process in self.processes.values { process.signal(SIGKILL) }
        for process in self.processes.values { try await self.end(of: process) }
        self.processes = [:]
        try FileManager.default.removeItem(at: self.folder)
    }

    // MARK: - Requests

    package func isServing() async throws -> Bool {
        do { return try await self.request("GET", "/readyz", authorization: nil).status == 200 } catch is URLError {
            return false
        }
    }

    /// What a program exposes for Prometheus.
    package func metrics(of program: String) async throws -> String {
        // Where it says it is, for a port chosen before it starts may be another's by then.
        let served = try self.log(of: program).matches(
            of: /served\b.*server\.address(?:=|":")([0-9.]+).*server\.port(?:=|":")([0-9]+)/
        )
        guard let place = served.last, let url = URL(string: "http://\(place.1):\(place.2)/metrics") else {
            throw Failure(description: "\(program) has not said where its metrics are")
        }
        let (data, _) = try await URLSession.shared.data(for: URLRequest(url: url, timeoutInterval: 30))
        return String(decoding: data, as: UTF8.self)
    }

    /// The delivery worker's metrics that begin so, a line each.
    package func deliveryMetrics(_ name: String) async throws -> [String] {
        try await self.metrics(of: "delivery-worker").split(separator: "\n").map(String.init).filter {
            $0.hasPrefix(name)
        }
    }

    package func asUser(_ user: String, _ method: String, _ path: String, body: String? = nil) async throws -> Answer {
        let login = Data("\(user):\(Self.password)".utf8).base64EncodedString()
        return try await self.request(method, path, body: body, authorization: "Basic \(login)")
    }

    package func asBackend(
        _ method: String,
        _ path: String,
        body: String? = nil,
        type: String = "application/json",
        key: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        try await self.request(
            method,
            path,
            body: body,
            type: type,
            authorization: "Bearer \(key ?? self.senderKey)",
            headers: headers
        )
    }

    private func request(
        _ method: String,
        _ path: String,
        body: String? = nil,
        type: String = "application/json",
        authorization: String?,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        guard let url = URL(string: "http://127.0.0.1:\(self.port)\(path)") else {
            throw Failure(description: "\(path) is no path")
        }
        var request = URLRequest(url: url, timeoutInterval: 30)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        request.setValue(authorization, forHTTPHeaderField: "Authorization")
        if body != nil { request.setValue(type, forHTTPHeaderField: "Content-Type") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        let (data, response) = try await URLSession.shared.data(for: request)
        guard let response = response as? HTTPURLResponse else { throw Failure(description: "no HTTP answer") }
        var headers: [String: String] = [:]
        for (name, value) in response.allHeaderFields { headers["\(name)".lowercased()] = "\(value)" }
        return Answer(status: response.statusCode, headers: headers, body: data)
    }

    /// Registers a device as an app does: what a busy machine answers with 503 is asked again.
    package func register(_ user: String, platform: String, handle: String, tags: [String] = []) async throws {
        let escaped = handle.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? handle
        let end = ContinuousClock.now + .seconds(60)
        var issued = try await self.asUser(user, "POST", "/api/register?handle=\(escaped)")
        while issued.status == 503, let pause = issued.headers["retry-after"].flatMap(Int.init),
            ContinuousClock.now < end
        {
            try await Task.sleep(for: .seconds(pause))
            issued = try await self.asUser(user, "POST", "/api/register?handle=\(escaped)")
        }
        guard issued.status == 200 else {
            throw Failure(description: "no id: \(issued.status) \(String(decoding: issued.body, as: UTF8.self))")
        }
        let id: String = try issued.decoded()
        let device: [String: Any] = ["Platform": platform, "Handle": handle, "Tags": tags]
        let body = String(decoding: try JSONSerialization.data(withJSONObject: device), as: UTF8.self)
        let answer = try await self.asUser(user, "PUT", "/api/register/\(id)", body: body)
        guard answer.status == 200, answer.body.isEmpty else {
            throw Failure(description: "not registered: \(answer.status)")
        }
    }

    /// Registers devices in one request, a line of NDJSON each.
    package func importRegistrations(_ lines: [String]) async throws {
        struct Report: Decodable {
            let created: Int
            package let failed: Int
        }
        let answer = try await self.asBackend(
            "POST",
            "/api/registrations/import",
            body: lines.joined(separator: "\n"),
            type: "application/x-ndjson"
        )
        guard answer.status == 200 else { throw Failure(description: "not imported: \(answer.status)") }
        let report: Report = try answer.decoded()
        guard report.created == lines.count, report.failed == 0 else { throw Failure(description: "\(report)") }
    }

    package func job(_ id: String) async throws -> JobAnswer {
        try await self.asBackend("GET", "/api/jobs/\(id)").decoded()
    }

    /// Waits until the job is final.
    package func finished(_ id: String, within limit: Duration = .seconds(60)) async throws -> JobAnswer {
        let end = ContinuousClock.now + limit
        while true {
            let job = try await self.job(id)
            if job.isFinal { return job }
            guard ContinuousClock.now < end else { throw Failure(description: "Job \(id) is still \(job.state).") }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

extension Process {
    fileprivate func signal(_ signal: Int32) {
        if self.isRunning { Foundation.kill(self.processIdentifier, signal) }
    }
}

/// Runs a body beside a whole installation, with a RabbitMQ node and simulated push services of its own.
///
/// - Parameters:
///   - environment: Settings of all programs.
///   - broker: Further lines of the node's configuration.
///   - body: Finds it as ``EndToEndInstallation/current``, and its node as ``RabbitMQTestNode/current``.
/// - Throws: What the body throws, or what keeps the installation from starting.
package func withInstallation(
    environment: [String: String] = [:],
    broker: [String] = [],
    _ body: @Sendable @concurrent () async throws -> Void
) async throws {
    let node = try await RabbitMQTestNode.start(settings: broker)
    let outcome: Result<Void, any Error>
    do {
        try await withSimulator { simulator in
            let installation = try await EndToEndInstallation.start(
                broker: node.url,
                simulator: simulator,
                environment: environment
            )
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(
                    try await RabbitMQTestNode.$current.withValue(node) {
                        try await EndToEndInstallation.$current.withValue(installation, operation: body)
                    }
                )
            } catch {
                outcome = .failure(error)
            }
            try await installation.stop()
            try outcome.get()
        }
        outcome = .success(())
    } catch {
        outcome = .failure(error)
    }
    // It has nothing left to lose, and an orderly end takes its time.
    try await node.kill()
    try await node.stop()
    try outcome.get()
}
