import Logging
import Store

/// Repeats a step while the store cannot commit (rule 5: keep the results, retry the commit).
struct StoreRetry: Sendable {
    let logger: Logger
    /// The time after which the step fails; nil = retries go on until the task is cancelled.
    var limit: Duration?

    /// Runs `step` until the store takes it.
    func run<Result>(_ step: () async throws -> Result) async throws -> Result {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(100)
        var level = Logger.Level.info
        while true {
            do {
                return try await step()
            } catch let error as StoreError where error.mayPass {
                if let limit = self.limit, start.duration(to: .now) > limit { throw error }
                // The store logs its failure itself, once for all callers.
                self.logger.log(level: level, "Waiting for the store", metadata: ["error": "\(error)"])
                level = .debug
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(2))
            }
        }
    }
}
