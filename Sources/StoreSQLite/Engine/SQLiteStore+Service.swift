import PushModel
import ServiceLifecycle
import Store

extension SQLiteStore: Service {
    /// Keeps the log short until shutdown, where no other process does (rule 8).
    package func run() async throws {
        let interval = self.configuration.checkpointInterval
        let checkpointer = try Checkpointer(path: self.configuration.path, interval: interval, logger: self.logger)
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await checkpointer.pass()
                // Looking costs nothing, and an import fills the log in a second. Cancelled = shutdown: the loop ends.
                do { try await Task.sleep(for: min(interval, .milliseconds(200))) } catch { break }
            }
            checkpointer.stop()
        }
    }
}
