import HTTPTypes
import Hummingbird
import Intake
import NIOCore
import PushModel
import Store
import WebServing

/// The JSON of a job: the members of ``JobMember/all``.
struct JobText {
    let job: Job
    let id: String
    /// The job's path.
    let location: String
    /// The job's send; nil = it is a register job.
    let send: SendRequest?
    /// What selects the audience of its send; nil = it has a list, or is for all.
    let selection: TagExpression?
    /// The tags of which one is enough, if it is selected so.
    let tags: [Tag]?
    /// Its counts over all services.
    let total: DeliveryCounts
    /// Devices a second at the moment at each service, if that is known.
    let rates: [PushService: Double]?
    /// The present reason of the wait, if the job itself has none.
    let blockedReason: String?
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
        self.blockedReason = blockedReason
        self.send = if case .send(let send) = job.work { send } else { nil }
        self.rates = self.send == nil ? nil : rates
        self.selection = self.send?.audience.selection.flatMap { $0 == .everyone ? nil : $0 }
        self.tags = self.selection?.alternatives
        self.total = job.counts.values.reduce(into: DeliveryCounts()) { $0 += $1 }
    }

    func response(status: HTTPResponse.Status) -> Response {
        .json(self.bytes, status: status, cacheControl: "no-store")
    }

    /// The JSON text in UTF-8.
    var bytes: [UInt8] {
        JSONWriter.object { members in
            for member in JobMember.all { member.write(self, &members) }
        }
    }

    // MARK: What the members show

    /// The most characters of an expression to show.
    private static let maximumExpression = 1000

    static func shortened(_ expression: TagExpression) -> String {
        let text = expression.description
        let shown = text.prefix(Self.maximumExpression)
        return shown.endIndex == text.endIndex ? text : shown + "…"
    }

    /// How many targets a send has or will have: known once all are in batches, and estimated before; nil = nobody knows.
    var whole: Int? {
        guard let progress = self.job.progress else { return self.total.targets }
        return progress.estimate.map { max($0, self.total.targets) }
    }

    /// The share of them that is done.
    ///
    /// Targets are counted as outcomes arrive. Without an estimate a running job shows 0 and a stopped one shows no progress.
    var progress: Double? {
        guard self.send != nil else { return nil }
        let state = self.job.state
        let done = Double(state.isStopped ? self.total.reached : self.total.accounted)
        let share = self.whole.map { $0 == 0 ? 0 : min(done / Double($0), state.isFinal ? 1 : 0.999) }
        if !state.isFinal { return share ?? 0 }
        return state.isStopped ? share : 1
    }

    /// The remaining seconds of the slowest service; nil if a service has no rate yet, or its remaining devices are
    /// unknown.
    var secondsLeft: Int? {
        guard let rates = self.rates else { return nil }
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

    static func write(_ devices: DeliveryCounts, to members: inout JSONWriter) {
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

    /// The result of a register job.
    var result: JSONValue? {
        guard case .register(let request) = self.job.work, let result = self.job.result else { return nil }
        var (status, registration, words) = ("done", request.registration, String?.none)
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
