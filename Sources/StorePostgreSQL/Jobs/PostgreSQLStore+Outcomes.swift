import Logging
package import Store
import StoreSQL

extension PostgreSQLStore: OutcomeSink {
    package func record(_ outcomes: [BatchOutcome]) async throws -> [Bool] {
        func recording(trustsHints: Bool) -> SQLTransaction<Ended<[Bool]>> {
            OutcomeRecording(
                outcomes: outcomes,
                trustsHints: trustsHints,
                clock: self.clock,
                handles: self.handles
            ).transaction
        }
        do { return await self.finish(try await self.attempt(recording(trustsHints: true))) } catch is ReadIsOld {
            return try await self.end(recording(trustsHints: false))
        }
    }

    package func closedBatches(of jobs: [Int64]) async {
        do { try await self.completeJobs(among: jobs) } catch {
            self.logger.warning("Jobs whose last batch is closed are ended later", metadata: ["error": "\(error)"])
        }
    }
}

extension PostgreSQLStore: HubCallStore {}
