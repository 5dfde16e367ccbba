import HTTPTypes
import Hummingbird
import Intake
import NIOCore
import PushModel
import Store
import WebServing

/// The JSON of a job.
struct JobText {
    let job: Job
    let id: String
    /// The job's path.
    let location: String
    /// Devices a second at the moment at each service, where that is known.
    var rates: [PushService: Double]?
    /// The present reason of the wait, if the job itself has none.
    var blockedReason: String?
    /// Members of the send that come to nothing, as its answer says.
    let warnings: [InvalidValue]
    /// The calls of the app's hub over a wire; nil = it has none, or they are not shown.
    var calls: [HubCall]?

    /// - Parameters:
    ///   - job: The job.
    ///   - prefix: The prefix of links.
    ///   - rates: The present devices a second of each service, where known.
    ///   - blockedReason: The present reason of the wait, if the job itself has none.
    ///   - warnings: Members of the send that come to nothing, as its answer says.
    init(
        job: Job,
        prefix: String,
        rates: [PushService: Double]? = nil,
        blockedReason: String? = nil,
        warnings: [InvalidValue] = []
    ) {
        self.warnings = warnings
        self.job = job
        self.id = job.id.description
        var location = prefix
        location.reserveCapacity(prefix.utf8.count + 5 + self.id.utf8.count)
        location += "jobs/"
        location += self.id
        self.location = location
        self.rates = rates
        self.blockedReason = blockedReason
    }

    func response(status: HTTPResponse.Status) -> Response {
        .json(self.bytes, status: status, cacheControl: "no-store")
    }

    /// The JSON text in UTF-8.
    var bytes: [UInt8] { JSONWriter.object { self.write(to: &$0) } }

    private func write(to members: inout JSONWriter) {
        let job = self.job
        members.add("id", self.id)
        members.add("href", self.location)
        members.add("app", job.app.name)
        members.add("kind", job.work.kind.rawValue)
        members.add("state", job.state.rawValue)
        members.add("isFinal", job.state.isFinal)
        members.add("reason", job.reason ?? self.blockedReason)
        members.add("user", job.user?.name)
        members.add("key", job.key)
        members.add("label", job.label?.text)
        members.add("priority", job.priority.rawValue)
        members.add("accepted", job.accepted)
        members.add("started", job.started)
        members.add("finished", job.finished)
        members.add("at", job.startsAt)
        members.add("expires", job.expires)
        members.add("due", job.due)
        switch job.work {
        case .register(let request):
            members.add("result", job.result.map { Self.result($0, of: request.registration) })
        case .send(let send):
            if send.isDryRun { members.add("dryRun", true) }
            switch send.audience {
            case .tags(let expression):
                Self.write(expression, truncated: send.truncatedTags, to: &members)
            case .hub(let expression, _) where expression != .everyone:
                Self.write(expression, truncated: send.truncatedTags, to: &members)
            case .all, .hub: members.add("recipients") { $0.add("kind", "all") }
            case .list(let list):
                members.add("recipients") { recipients in
                    recipients.add("kind", list.kind.rawValue)
                    recipients.add("given", list.given)
                    recipients.add("count", list.count)
                }
            }
            if !send.platforms.isEmpty {
                members.addArray("services") { for service in send.platforms { $0.append(service.rawValue) } }
            }
            self.writeCounts(to: &members)
            if let calls = self.calls { members.add("hub") { HubCallsText.write(calls, to: &$0) } }
        }
        if !self.warnings.isEmpty { members.add("warnings", PreviewJSON.json(self.warnings)) }
    }

    private static func write(_ expression: TagExpression, truncated: Int, to members: inout JSONWriter) {
        guard let tags = expression.alternatives else {
            return members.add("expression", Self.expression(expression))
        }
        let preview = tags.prefix(SendRequest.previewTags)
        members.addArray("to") { for tag in preview { $0.append(tag.name) } }
        let count = tags.count + truncated
        members.add("toCount", count > preview.count ? count : nil)
    }

    /// The most characters of an expression to show.
    private static let maximumExpression = 1000

    private static func expression(_ expression: TagExpression) -> String {
        let text = expression.description
        let shown = text.prefix(Self.maximumExpression)
        return shown.endIndex == text.endIndex ? text : shown + "…"
    }

    private func writeCounts(to members: inout JSONWriter) {
        var total = DeliveryCounts()
        let services = self.job.counts.sorted { $0.key < $1.key }
        for (_, devices) in services { total += devices }
        members.add("counts") { counts in
            for (pns, devices) in services { counts.add(pns.rawValue) { Self.write(devices, to: &$0) } }
        }
        members.add("totals") { Self.write(total, to: &$0) }
        self.writeProgress(to: &members, total: total)
    }

    /// Targets are counted as outcomes arrive.
    ///
    /// Their total is known once all are in batches, and estimated before.
    private func writeProgress(to members: inout JSONWriter, total: DeliveryCounts) {
        let (progress, state) = (self.job.progress, self.job.state)
        let whole = progress == nil ? total.targets : progress?.estimate.map { max($0, total.targets) }
        let done = Double(state.isStopped ? total.reached : total.accounted)
        // Without an estimate a running job shows 0 and a stopped one shows no progress.
        var share = whole.map { $0 == 0 ? 0 : min(done / Double($0), state.isFinal ? 1 : 0.999) }
        if !state.isFinal { share = share ?? 0 } else if !state.isStopped { share = 1 }
        members.add("progress", share.map { .number(String(($0 * 1000).rounded(.down) / 1000)) })
        members.add("fannedOut", progress?.devices)
        members.add("estimate", progress == nil ? nil : whole)
        guard let rates = self.rates else { return }
        members.add("rate", .number(String((rates.values.reduce(0, +) * 10).rounded() / 10)))
        members.add("secondsLeft", self.secondsLeft(rates))
    }

    /// The remaining seconds of the slowest service; nil if a service has no rate yet, or its remaining devices are
    /// unknown.
    private func secondsLeft(_ rates: [PushService: Double]) -> Int? {
        let (services, counts) = (self.job.progress?.services ?? [:], self.job.counts)
        var longest = 0.0
        for pns in Set(services.keys).union(counts.keys) {
            let devices = counts[pns] ?? DeliveryCounts()
            var whole = devices.targets
            if let service = services[pns] {
                guard let estimate = service.estimate else { return nil }
                whole = max(whole, estimate)
            }
            let left = whole - devices.accounted
            guard left > 0 else { continue }
            guard let rate = rates[pns], rate > 0 else { return nil }
            longest = max(longest, Double(left) / rate)
        }
        return Int(clamping: longest.rounded(.up))
    }

    private static func write(_ devices: DeliveryCounts, to members: inout JSONWriter) {
        members.add("targets", devices.targets)
        members.add("accepted", devices.accepted)
        members.add("failed") { failed in
            for (reason, count) in devices.failed.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where count != 0 {
                failed.add(reason.rawValue, count)
            }
        }
        members.add("expired", devices.expired)
        members.add("cancelled", devices.cancelled)
        members.add("open", max(0, devices.targets - devices.accounted))
    }

    private static func result(_ result: RegisterResult, of id: RegistrationID?) -> JSONValue {
        var (status, registration, words) = ("done", id, String?.none)
        var channel: JSONValue?
        switch result {
        case .issued(let id): (status, registration) = ("issued", id)
        case .done: break
        case .superseded: status = "superseded"
        case .gone: status = "gone"
        case .notFound: status = "not-found"
        // A list is not shown: it is long, and soon out of date.
        case .channels(let channels, _): channel = channels.first { $0.storage != nil }?.json
        case .refused(let reason): (status, words) = ("refused", reason)
        case .unknown(let reason): (status, words) = ("unknown", reason)
        }
        return .members([
            "status": .string(status),
            "registration": registration.map { .string($0.text) },
            "channel": channel,
            "reason": words.map { .string($0) },
        ])
    }
}

extension JobMonitor.Snapshot {
    /// The text that shows it, with links of that prefix.
    func text(prefix: String) -> JobText {
        JobText(job: self.job, prefix: prefix, rates: self.rates, blockedReason: self.blockedReason)
    }
}
