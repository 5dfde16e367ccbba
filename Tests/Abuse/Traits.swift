import InstallationSupport
import Testing

/// Starts an installation before a suite and ends it afterwards; the suite has a RabbitMQ node of its own.
struct InstallationTrait: SuiteTrait, TestScoping {
    /// Settings of all programs, such as `PUSHLINE_API_IN_FLIGHT`.
    let environment: [String: String]
    /// Further lines of the node's configuration, such as `frame_max = 8192`.
    let broker: [String]

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await withInstallation(environment: self.environment, broker: self.broker, function)
    }
}

extension SuiteTrait where Self == InstallationTrait {
    static func installation(_ environment: [String: String] = [:], broker: [String] = []) -> Self {
        Self(environment: environment, broker: broker)
    }
}
