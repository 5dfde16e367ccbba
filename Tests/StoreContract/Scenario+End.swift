import PushModel
import Store

extension Scenario {
    /// Brings all that was accepted to its end: nothing is paused any more, what starts later has started, and the time of all sends is over;
    /// changes of registrations are made.
    package func endAllWork() async throws {
        for pause in try await self.store.pauses() {
            try await self.store.apply(.pause(.end(pause.queue, app: pause.app)))
        }
        for time in [Duration.seconds(400), .seconds(200_000), Self.closedAfterStop] {
            self.time.advance(time)
            while try await self.startScheduled(limit: 100) > 0 {}
            while try await self.expireJobs(limit: 100) > 0 {}
            // The removal of a user has no end but its own.
            for message in try await self.store.takeDue([.register], overdue: .zero, limit: 200) {
                for job in try await self.store.registerJobs(of: message.id) {
                    var result: RegisterResult?
                    while result == nil { result = try await self.store.register(job) }
                    _ = try await self.store.finishRegister(job.id, result: result ?? .done)
                }
            }
        }
    }

    /// What should not be there when all work is at its end, in words.
    package func leftovers() async throws -> [String] {
        var left = try await self.auditFaults()
        let jobs = try await self.store.state().jobs
        if jobs != 0 { left.append("unfinished jobs: \(jobs)") }
        let messages = try await self.store.takeDue(Set(WorkQueue.allCases), overdue: .zero, limit: 100)
        return left + messages.map { "a message: \($0)" }
    }
}
