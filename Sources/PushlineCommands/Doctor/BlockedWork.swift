import PushModel
import PushServices
import Store

/// Work that waits for an operator, according to the store.
struct BlockedWork {
    let store: any ResultStore
    let apps: [AppID]

    /// The most jobs of an app to read, newest first.
    private static let jobs = 200

    func findings() async throws -> [Finding] {
        try await self.pauses() + self.dead() + self.waiting()
    }

    private func pauses() async throws -> [Finding] {
        try await self.store.pauses().map { pause in
            let whose = pause.app.map { "of app \($0)" } ?? "of all apps"
            let option = pause.app.map { "--app \($0)" } ?? "--all-apps"
            return .wrong(
                "queue \(pause.queue)",
                "work \(whose) is paused by \(pause.by) since \(pause.since.iso8601): "
                    + "pushline queues resume \(pause.queue) \(option)"
            )
        }
    }

    private func dead() async throws -> [Finding] {
        let count = try await self.store.backlog().dead
        guard count > 0 else { return [] }
        var apps: [AppID] = []
        for app in Set(self.apps + [.default]).sorted() {
            let page = try await self.store.deadLetters(app: app, cursor: nil, limit: 1)
            if !page.items.isEmpty { apps.append(app) }
        }
        let commands = apps.map { "pushline dead --app \($0)" }.joined(separator: ", ")
        let number = count >= Backlog.mostDead ? "\(count) or more" : "\(count)"
        return [.wrong("dead messages", "\(number) wait to be replayed or discarded: \(commands)")]
    }

    /// Sends blocked by a push service or by the app's credentials.
    private func waiting() async throws -> [Finding] {
        var findings: [Finding] = []
        for app in self.apps {
            var known: [String: (count: Int, job: JobID, cause: BreakerCause)] = [:]
            for state in [Job.State.retrying, .running] {
                let query = JobQuery(app: app, state: state, kind: .send, limit: Self.jobs)
                for job in try await self.store.jobs(query).items {
                    guard let reason = job.reason, let cause = job.cause else { continue }
                    known[reason, default: (0, job.id, cause)].count += 1
                }
            }
            for (reason, seen) in known.sorted(by: { $0.key < $1.key }) {
                let sends = seen.count == 1 ? "a send waits" : "\(seen.count) sends wait"
                findings.append(
                    .wrong(
                        "\(app) sends",
                        "\(sends), such as \(seen.job): \(reason); \(Self.advice(seen.cause, reason))"
                    )
                )
            }
        }
        return findings
    }

    static func advice(_ cause: BreakerCause, _ reason: String) -> String {
        switch cause {
        case .service: "it is probed, and goes on by itself: look at the service's status page"
        case .credentials:
            // The service's own word is the last one.
            reason.split(separator: " ").last.flatMap { APNsAnswers.advice(on: String($0)) }
                ?? "check that service's key, ids and files in the app's declaration: what is corrected is used from the next try on"
        case .tokens: "check the app's endpoint and topic: the tokens are another environment's, most likely"
        }
    }
}
