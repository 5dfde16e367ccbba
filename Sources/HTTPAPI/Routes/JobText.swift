import HTTPTypes
import Hummingbird
import NIOCore
import PushModel

/// A job as its JSON says it.
struct JobText {
    let job: Job
    /// What links begin with.
    let prefix: String
    /// Devices a second at the moment, where that is known.
    var rate: Double?
    /// What keeps it waiting now, where the job itself does not say.
    var obstacle: String?

    func response(status: HTTPResponse.Status) -> Response {
        let value = self.value
        var response = Response.json(value, status: status)
        response.headers[.cacheControl] = "no-store"
        return response
    }

    /// Members in order.
    private struct Members {
        private(set) var list: [JSONValue.Member] = []

        init() { self.list.reserveCapacity(24) }

        /// Adds a member that is there: nil is left out.
        mutating func add(_ name: String, _ value: JSONValue?) {
            if let value { self.list.append(JSONValue.Member(name: name, value: value)) }
        }
    }

    var value: JSONValue {
        let job = self.job
        let id = job.id.description
        var members = Members()
        members.add("id", .string(id))
        members.add("href", .string(self.prefix + "jobs/" + id))
        members.add("app", .string(job.app.name))
        members.add("kind", .string(job.work.kind.rawValue))
        members.add("state", .string(job.state.rawValue))
        members.add("isFinal", .bool(job.state.isFinal))
        members.add("hubState", job.hubState.map { .string($0.rawValue) })
        members.add("reason", (job.reason ?? self.obstacle).map(JSONValue.string))
        members.add("user", job.user.map { .string($0.name) })
        members.add("key", job.key.map(JSONValue.string))
        members.add("priority", .string(job.priority.rawValue))
        members.add("accepted", .string(job.accepted.iso8601))
        members.add("started", job.started.map { .string($0.iso8601) })
        members.add("finished", job.finished.map { .string($0.iso8601) })
        members.add("at", job.startsAt.map { .string($0.iso8601) })
        members.add("expires", .string(job.expires.iso8601))
        members.add("due", job.due.map { .string($0.iso8601) })
        switch job.work {
        case .register: members.add("result", job.result.map(Self.result))
        case .send(let send):
            if let tags = send.audience.alternatives {
                let told = tags.prefix(SendRequest.toldTags)
                members.add("to", .strings(told.map(\.name)))
                let count = tags.count + send.omitted
                members.add("toCount", count > told.count ? .integer(count) : nil)
            } else {
                members.add("expression", .string(Self.expression(send.audience)))
            }
            if !send.platforms.isEmpty { members.add("platforms", .strings(send.platforms.map(\.rawValue))) }
            self.addCounts(to: &members)
        }
        return .object(members.list)
    }

    /// So much of an expression is shown.
    private static let maximumExpression = 1000

    private static func expression(_ expression: TagExpression) -> String {
        let text = expression.description
        let shown = text.prefix(Self.maximumExpression)
        return shown.endIndex == text.endIndex ? text : shown + "…"
    }

    private func addCounts(to members: inout Members) {
        var total = Tally()
        let services = self.job.tallies.sorted { $0.key < $1.key }
        for (_, tally) in services { total += tally }
        let counts = services.map { JSONValue.Member(name: $0.key.rawValue, value: Self.counts($0.value)) }
        members.add("counts", .object(counts))
        members.add("totals", Self.counts(total))
        self.addProgress(to: &members, total: total)
    }

    /// Targets are counted as outcomes come in; how many there will be is known from the plan, or guessed.
    private func addProgress(to members: inout Members, total: Tally) {
        let plan = self.job.plan
        let whole =
            self.job.state.isFinal || plan == nil ? total.targets : plan?.estimate.map { max($0, total.targets) }
        let done = Double(total.accounted)
        let share = (whole ?? 0) == 0 ? (self.job.state.isFinal ? 1 : 0) : done / Double(whole ?? 1)
        members.add("progress", .number(String((min(1, share) * 1000).rounded(.down) / 1000)))
        members.add("planned", plan.map { .integer($0.devices) })
        members.add("estimate", plan == nil ? nil : whole.map(JSONValue.integer))
        guard let rate = self.rate else { return }
        members.add("rate", .number(String((rate * 10).rounded() / 10)))
        guard let whole, rate > 0 else { return }
        members.add("secondsLeft", .integer(Int(max(0, (Double(whole) - done) / rate).rounded(.up))))
    }

    private static func counts(_ tally: Tally) -> JSONValue {
        let failed = tally.failed.filter { $0.value != 0 }.sorted { $0.key.rawValue < $1.key.rawValue }
        return .members([
            "targets": .integer(tally.targets),
            "accepted": .integer(tally.accepted),
            "failed": .object(failed.map { JSONValue.Member(name: $0.key.rawValue, value: .integer($0.value)) }),
            "expired": .integer(tally.expired),
            "cancelled": .integer(tally.cancelled),
            "open": .integer(max(0, tally.targets - tally.accounted)),
        ])
    }

    private static func result(_ result: RegisterResult) -> JSONValue {
        switch result {
        case .issued(let id): .members(["status": .string("issued"), "registration": .string(id.text)])
        case .done: .members(["status": .string("done")])
        case .superseded: .members(["status": .string("superseded")])
        case .gone: .members(["status": .string("gone")])
        case .notFound: .members(["status": .string("not-found")])
        case .refused(let reason): .members(["status": .string("refused"), "reason": .string(reason)])
        }
    }
}

extension Response {
    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: value.bytes))
        )
    }

    /// A piece of a list: `items`, and `cursor` where there is more.
    static func page(_ items: [JSONValue], cursor: String?) -> Response {
        .json(.members(["items": .array(items), "cursor": cursor.map(JSONValue.string)]))
    }
}
