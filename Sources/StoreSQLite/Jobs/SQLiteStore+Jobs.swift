package import PushModel
import Store
import StoreKit
import StoreSQL

extension SQLiteStore: JobStore {
    package func finishRegister(_ id: JobID, result: RegisterResult) async throws -> String? {
        let text = try StoredJSON.text(result)
        return try await self.write { try $0.finishRegister(id, result: result, text: text) }
    }

    func startScheduled(limit: Int) async throws -> Int {
        // Looks before it writes: an idle store stays idle.
        let apps = try await self.rows(JobTable.appsToStart(until: self.clock.wall, limit: limit))
        guard !apps.isEmpty else { return 0 }
        return try await self.write { context in
            // An app with very many jobs scheduled for one time does not delay other apps.
            let share = max(1, limit / apps.count)
            let start = try PreparedTransition(.start, context)
            let cautious = context.clock.cautious.milliseconds
            var count = 0
            for app in apps {
                let due = JobTable.jobsToStart(of: try app["app"], until: context.wall, limit: share)
                for job in try context.database.answer(due).rows {
                    let sequence: Int64 = try job["sequence"]
                    let message = try context.insert(
                        NewMessage(
                            of: sequence,
                            JobKind(number: job["kind"]),
                            app: app["app"],
                            priority: job["priority"],
                            now: context.now
                        )
                    )
                    guard try start.make(sequence, message, context.now, cautious) else {
                        throw StoreError(.corrupt, "a scheduled job does not start")
                    }
                    count += 1
                }
            }
            return count
        }
    }
}
