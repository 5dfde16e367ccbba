import PushModel
import PushServices
import Store

/// Work that waits for an operator, according to the store.
struct BlockedWork {
    let store: any ResultStore
    let apps: [AppID: AppSpec]

    /// The most jobs of an app to read, newest first.
    private static let jobs = 200

    func findings() async throws -> [Finding] {
        try await self.pauses() + self.dead() + self.waiting() + self.undeclared()
    }

    private func pauses() async throws -> [Finding] {
        try await self.store.pauses().map { pause in
            let whose = pause.app.map { "of app \($0)" } ?? "of all apps"
            let option = pause.app.map { "--app \($0)" } ?? "--all-apps"
            return .wrong(
                "queue \(pause.queue)",
                "work \(whose) has been paused by \(pause.by) since \(pause.since.iso8601); to resume it: "
                    + "pushline queues resume \(pause.queue) \(option)"
            )
        }
    }

    private func dead() async throws -> [Finding] {
        let count = try await self.store.state().dead
        guard count > 0 else { return [] }
        var apps: [AppID] = []
        for app in Set(self.apps.keys).union([.default]).sorted() {
            let page = try await self.store.deadLetters(DeadLetterQuery(app: app, limit: 1))
            if !page.items.isEmpty { apps.append(app) }
        }
        var whose = apps.map { "--app \($0)" }
        if try await !self.store.deadLetters(DeadLetterQuery(app: nil, limit: 1)).items.isEmpty {
            whose.append("--of-no-app")
        }
        let commands = whose.map { "pushline dead \($0)" }.joined(separator: ", ")
        let number = count >= StoreState.mostDead ? "\(count) or more" : "\(count)"
        return [.wrong("dead letters", "\(number) to replay or discard: \(commands)")]
    }

    /// Sends blocked by a push service or by the app's credentials.
    private func waiting() async throws -> [Finding] {
        var findings: [Finding] = []
        for app in self.apps.keys.sorted() {
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

    /// Devices that name a credential which their app does not declare any more: they get nothing.
    private func undeclared() async throws -> [Finding] {
        var findings: [Finding] = []
        for (app, spec) in self.apps.sorted(by: { $0.key < $1.key }) {
            for use in try await self.store.credentialUses(app: app) {
                guard spec.credentials[use.pns, use.credential] == nil else { continue }
                let devices = use.devices == 1 ? "a registration names" : "\(use.devices) registrations name"
                findings.append(
                    .wrong(
                        "\(app) \(use.pns.rawValue) \(use.credential)",
                        "\(devices) this credential, which the app does not declare: their notifications fail; declare it again, or "
                            + "register them with another"
                    )
                )
            }
        }
        return findings
    }

    static func advice(_ cause: BreakerCause, _ reason: String) -> String {
        switch cause {
        case .service: "Pushline probes the service and resumes by itself; check its status page"
        case .credentials:
            // The service's own word is the last one.
            reason.split(separator: " ").last.flatMap { APNsAnswers.advice(on: String($0)) }
                ?? "correct the key, ids or files in the app's declaration; the next try uses them"
        case .tokens: "check the app's endpoint and topic: the tokens are another environment's, most likely"
        }
    }
}
