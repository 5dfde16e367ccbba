import Broker
import Intake
import PushModel

/// The processes as an operator of one app sees them.
///
/// They are the host's, and serve all apps: what they have of others is left out (docs/security.md).
struct ProcessText {
    let value: JSONValue

    init(_ processes: ProcessWatch, app: AppID) {
        let (seen, areAll) = processes.processes()
        self.value = .members([
            "items": .array(seen.map { Self.text($0, app: app) }), "isComplete": .bool(areAll),
        ])
    }

    private static func text(_ seen: ProcessWatch.Seen, app: AppID) -> JSONValue {
        let report = seen.report
        // Of a report that had no room for all, nothing is not known to be none.
        let inHand = report.work.flatMap { $0[app.name] ?? (report.isComplete ? 0 : nil) }
        return .members([
            "id": .string(report.id), "role": .string(report.role), "state": .string(seen.state.rawValue),
            "silentSeconds": .integer(Int(clamping: seen.silence.inSeconds)), "host": .string(report.host),
            "pid": .integer(report.pid), "version": .string(report.version), "port": report.port.map { .integer($0) },
            "memory": report.memory.map { .integer($0) }, "inHand": inHand.map { .integer($0) },
            "breakers": .array(
                report.breakers.filter { $0.app == app }.map { breaker in
                    .members([
                        "service": .string(breaker.service), "credential": breaker.credential.map { .string($0) },
                        "reason": .string(breaker.reason),
                    ])
                }
            ),
            "refusals": .array(
                report.refusals.filter { $0.app == app }.map { refusal in
                    .members([
                        "service": .string(refusal.service), "credential": refusal.credential.map { .string($0) },
                        "reason": .string(refusal.reason), "since": .string(refusal.since.iso8601),
                    ])
                }
            ),
            "credentials": .array(
                report.endings.filter { $0.app == app || $0.app == nil }.map { ending in
                    .members(["setting": .string(ending.setting), "end": .string(ending.end.iso8601)])
                }
            ),
        ])
    }
}
