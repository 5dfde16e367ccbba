package import BrokerRabbitMQ
import Foundation

/// Three RabbitMQ nodes that are one cluster, set up as `deploy/rabbitmq` says; each can be killed and started.
package struct RabbitMQTestCluster: Sendable {
    @TaskLocal package static var current: RabbitMQTestCluster?

    package let directory: String
    /// The addresses of the nodes 1 to 3.
    package let urls: [String]

    /// Starts a cluster in a folder of its own.
    ///
    /// - Returns: The cluster, of which each node accepts connections.
    /// - Throws: ``RabbitMQTestNode/Failure`` with what the scripts said.
    package static func start() async throws -> RabbitMQTestCluster {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "pushline-cluster-\(UUID().uuidString.prefix(8))").path
        // First: what is ended while it starts is cleaned up, too.
        try await RabbitMQTestNode.afterTests("broker_cluster_stop '\(directory)' 0", directory)
        let output = try await RabbitMQTestNode.shell(
            "broker_cluster_start '\(directory)' && printf '%s\\n' \"$BROKER_URL\""
        )
        let urls = output.trimmingCharacters(in: .newlines).split(separator: ",").map(String.init)
        guard urls.count == 3 else {
            throw RabbitMQTestNode.Failure(description: "The cluster did not say its addresses: \(output)")
        }
        return RabbitMQTestCluster(directory: directory, urls: urls)
    }

    package func stop() async throws {
        try await RabbitMQTestNode.shell("broker_cluster_stop '\(self.directory)' 0")
        try FileManager.default.removeItem(atPath: self.directory)
    }

    /// A configuration that tries this node first, then the others.
    package func configuration(first: Int = 1) throws -> RabbitMQConfiguration {
        var configuration = try RabbitMQConfiguration(
            urls: (0..<3).map { self.urls[(first - 1 + $0) % 3] }
        )
        configuration.heartbeat = .seconds(5)
        return configuration
    }

    /// Kills a node, as `kill -9` does.
    package func kill(_ node: Int) async throws {
        try await RabbitMQTestNode.shell("broker_kill '\(self.directory)/\(node)'")
    }

    package func startAgain(_ node: Int) async throws {
        try await RabbitMQTestNode.shell("broker_start '\(self.directory)/\(node)'")
    }

    /// Sends a node's process a signal.
    package func signal(_ name: String, to node: Int) async throws {
        try await RabbitMQTestNode.shell("kill -\(name) \"$(cat '\(self.directory)/\(node)/node.pid')\"")
    }

    /// Where a queue's leader is, and how many of its members are there, as a node's management API has it.
    ///
    /// - Returns: nil while it does not answer, or does not know.
    package func state(of queue: String, asking node: Int) async throws -> (leader: Int, online: Int)? {
        struct Answer: Decodable {
            let leader: String?
            let online: [String]?
        }
        let text = try await RabbitMQTestNode.shell(
            """
            . '\(self.directory)/\(node)/node.env'
            curl -s --max-time 2 -u "pushline:$NODE_PASSWORD" \
                "http://127.0.0.1:$NODE_MANAGEMENT_PORT/api/queues/pushline/\(queue)?columns=leader,online" || true
            """
        )
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(text.utf8)), let leader = answer.leader,
            let index = self.urls.firstIndex(where: { url in
                URLComponents(string: url)?.port.map { "pushline-\($0)@localhost" } == leader
            })
        else { return nil }
        return (index + 1, answer.online?.count ?? 0)
    }
}
