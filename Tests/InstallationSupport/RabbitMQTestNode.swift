package import BrokerRabbitMQ
import Foundation
import Logging

/// A RabbitMQ node of the tests' own, for what would disturb others: stopping, killing, alarms, TLS.
package struct RabbitMQTestNode: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    @TaskLocal package static var current: RabbitMQTestNode?

    package let directory: String
    package let url: String
    package let tlsURL: String

    /// Starts a node in a folder of its own.
    ///
    /// - Parameter settings: Further lines of its configuration, such as `frame_max = 8192`.
    /// - Returns: The node, which accepts connections.
    /// - Throws: ``Failure`` with what the scripts said.
    package static func start(settings: [String] = []) async throws -> RabbitMQTestNode {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "pushline-broker-\(UUID().uuidString.prefix(8))")
        let directory = folder.path
        let more = folder.appending(path: "conf.d")
        try FileManager.default.createDirectory(at: more, withIntermediateDirectories: true)
        try settings.map { $0 + "\n" }.joined()
            .write(to: more.appending(path: "test.conf"), atomically: true, encoding: .utf8)
        let output = try await Self.shell(
            """
            broker_certificates '\(directory)/tls' && broker_start '\(directory)' --tls '\(directory)/tls' &&
            printf '%s\\n%s\\n' "$BROKER_URL" "$BROKER_TLS_URL"
            """
        )
        try await Self.afterTests("broker_stop '\(directory)' 0", directory)
        let lines = output.split(separator: "\n").map(String.init)
        guard lines.count == 2 else { throw Failure(description: "The node did not say its addresses: \(output)") }
        return RabbitMQTestNode(directory: directory, url: lines[0], tlsURL: lines[1])
    }

    /// Tests that are ended from outside leave no node behind, and no folder.
    static func afterTests(_ line: String, _ directory: String) async throws {
        try await Self.shell(
            """
            (
                # Who ends all that a run of tests has left ends what this cleans up after, too.
                trap '' TERM
                broker_close_descriptors
                while kill -0 \(ProcessInfo.processInfo.processIdentifier); do sleep 1; done
                \(line)
                rm -rf '\(directory)'
            ) </dev/null >/dev/null 2>&1 &
            """
        )
    }

    package func stop() async throws {
        // It may not hear a SIGTERM: threads of Swift's pool block signals, and a child inherits that.
        try await Self.shell("broker_stop '\(self.directory)' 0")
        try FileManager.default.removeItem(atPath: self.directory)
    }

    package func kill() async throws {
        try await Self.shell("broker_kill '\(self.directory)'")
    }

    package func startAgain() async throws {
        try await Self.shell("broker_start '\(self.directory)'")
    }

    /// Sends the node's process a signal.
    package func signal(_ name: String) async throws {
        try await Self.shell("kill -\(name) \"$(cat '\(self.directory)/node.pid')\"")
    }

    /// Runs rabbitmqctl against the node.
    @discardableResult
    package func control(_ arguments: String) async throws -> String {
        try await Self.shell("broker_ctl '\(self.directory)' -q \(arguments)")
    }

    /// Runs a line of bash that knows the functions of `deploy/lib/broker.sh`, and returns what it printed.
    @discardableResult
    static func shell(_ line: String) async throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let library = root.appending(path: "deploy/lib/broker.sh").path
        let file = FileManager.default.temporaryDirectory.appending(path: "pushline-\(UUID().uuidString).out")
        let errors = file.appendingPathExtension("err")
        defer {
            for url in [file, errors] where FileManager.default.fileExists(atPath: url.path) {
                try? FileManager.default.removeItem(at: url)
            }
        }
        // Files, not pipes: the node that is started keeps them open.
        for url in [file, errors] { try Data().write(to: url) }
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-c", ". '\(library)'; \(line)"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: file)
        process.standardError = try FileHandle(forWritingTo: errors)
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        guard status == 0 else {
            let text = try String(contentsOf: errors, encoding: .utf8)
            throw Failure(description: "\(line) ended with \(status): \(text)")
        }
        return try String(contentsOf: file, encoding: .utf8)
    }
}

/// A driver whose connections are kept while a body runs.
package func withRabbitMQ<Result: Sendable>(
    _ configuration: RabbitMQConfiguration,
    _ body: @Sendable (RabbitMQBroker) async throws -> Result
) async throws -> Result {
    var logger = Logger(label: "test.broker")
    logger.logLevel = .error
    let broker = RabbitMQBroker(configuration, logger: logger)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await broker.run() }
        defer { group.cancelAll() }
        return try await body(broker)
    }
}

/// Waits until a condition holds; fails after a minute.
package func eventually(_ what: String, _ condition: @Sendable () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(60)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw RabbitMQTestNode.Failure(description: "Never came: \(what)") }
        try await Task.sleep(for: .milliseconds(50))
    }
}
