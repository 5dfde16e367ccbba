import PushModel
import ServiceLifecycle
import Store

extension SQLiteStore: Service {
    /// Keeps the log short until shutdown, where no other process does (rule 8).
    package func run() async throws {
        let checkpointer = try Checkpointer(path: self.configuration.path, logger: self.logger)
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await checkpointer.turn()
                // Cancelled = shutdown: the loop ends.
                do { try await Task.sleep(for: self.configuration.checkpointInterval) } catch { break }
            }
            checkpointer.stop()
        }
    }
}
