import Foundation
import Logging
import ServiceLifecycle
import Testing

@testable import Runtime

/// What an end may take at most.
@Suite struct GraceLimitTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Hears of nothing, as a commit that waits for its disk.
    private struct Deaf: Service {
        let time: Duration

        func run() async throws {
            let time = self.time
            await Task.detached { try? await Task.sleep(for: time) }.value
        }
    }

    /// Its end asks the others to end.
    private struct Last: Service {
        func run() async throws {}
    }

    /// Asks a process to end in which something hears of nothing for that long.
    private static func end(beside time: Duration) async {
        let limit = GraceLimit(grace: .milliseconds(20), delay: .milliseconds(100), logger: Self.quiet)
        var group = ServiceGroupConfiguration(
            services: [
                .init(service: Deaf(time: time)),
                .init(service: Last(), successTerminationBehavior: .gracefullyShutdownGroup),
                .init(service: limit),
            ],
            logger: Self.quiet
        )
        group.maximumGracefulShutdownDuration = limit.grace
        try? await ServiceGroup(configuration: group).run()
    }

    @Test func whatHearsOfNothingDoesNotHoldUpTheEnd() async {
        await #expect(processExitsWith: .exitCode(EXIT_FAILURE)) {
            await GraceLimitTests.end(beside: .seconds(3600))
            exit(EXIT_SUCCESS)
        }
    }

    @Test func anEndInTimeIsLeftAlone() async {
        await #expect(processExitsWith: .exitCode(EXIT_SUCCESS)) {
            await GraceLimitTests.end(beside: .zero)
            exit(EXIT_SUCCESS)
        }
    }
}
