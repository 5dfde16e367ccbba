import InstallationSupport
import Testing

/// Starts a node before a suite and ends it afterwards.
struct RabbitMQNodeTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let node = try await RabbitMQTestNode.start()
        do {
            try await RabbitMQTestNode.$current.withValue(node, operation: function)
        } catch {
            try await node.stop()
            throw error
        }
        try await node.stop()
    }
}

extension SuiteTrait where Self == RabbitMQNodeTrait {
    static var ownRabbitMQNode: Self { Self() }
}

/// Starts a cluster of three nodes before a suite and ends it afterwards.
struct RabbitMQClusterTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let cluster = try await RabbitMQTestCluster.start()
        do {
            try await RabbitMQTestCluster.$current.withValue(cluster, operation: function)
        } catch {
            try await cluster.stop()
            throw error
        }
        try await cluster.stop()
    }
}

extension SuiteTrait where Self == RabbitMQClusterTrait {
    static var ownRabbitMQCluster: Self { Self() }
}

/// Starts an installation before a suite and ends it afterwards; the suite has a RabbitMQ node of its own.
struct EndToEndTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withInstallation(function)
    }
}

extension SuiteTrait where Self == EndToEndTrait {
    static var ownInstallation: Self { Self() }
}
