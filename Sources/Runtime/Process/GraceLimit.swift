import Foundation
import Logging
import ServiceLifecycle

/// Ends a process in which something outlives the grace of its shutdown: a store that gives no answer, a library that does not hear
/// that it is cancelled.
///
/// What it had in hand comes again, as after a crash.
struct GraceLimit: Service {
    /// How long what was cancelled at the end of the grace may take.
    static let delay = Duration.seconds(5)

    /// The grace, from the request to end.
    let grace: Duration
    var delay = Self.delay
    let logger: Logger

    /// Is the first to hear of the shutdown, and holds it up by nothing.
    func run() async throws {
        try await gracefulShutdown()
        Task.detached {
            // Nobody cancels it.
            try? await Task.sleep(for: self.grace)
            try? await Task.sleep(for: self.delay)
            self.logger.error("The process did not end in time: it ends at once, and what it had in hand comes again")
            _exit(EXIT_FAILURE)
        }
    }
}
