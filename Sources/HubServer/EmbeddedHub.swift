import Hub
import Intake
import PushModel
import PushlineLogging
import Store

/// The embedded hub, as `pushline-hub` calls it.
///
/// It accepts a send as a job, as the API does; a send worker brings it to the devices.
struct EmbeddedHub: ServedHub {
    private let store: any JobStore
    private let intake: JobIntake
    private let registrations: any HubRegistrations

    /// - Parameters:
    ///   - store: Where jobs are.
    ///   - intake: Accepts the sends that it takes.
    ///   - registrations: Changes registrations.
    init(store: any JobStore, intake: JobIntake, registrations: any HubRegistrations) {
        self.store = store
        self.intake = intake
        self.registrations = registrations
    }

    func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
        try await self.registrations.register(request, for: job, spec: spec)
    }

    func take(_ send: HubSend) async throws -> String? {
        try await self.intake.take(self.job(of: send), until: .outcome, within: .zero).id.description
    }

    func take(_ sends: [HubSend]) async throws -> [String?] {
        try await self.intake.take(sends.map(self.job)).map { $0?.description }
    }

    func outcome(of id: String, app: AppID) async throws -> HubOutcome {
        guard let id = JobID(id), let job = try await self.store.job(id, app: app), case .send(let send) = job.work
        else { return .notYet }
        return .known(HubReport(job, send))
    }

    private func job(of send: HubSend) -> NewJob {
        let (content, services): (Content, [PushService]) =
            switch send.form {
            case .native(let form): (.native(.init(message: nil, forms: [form])), [form.kind.pns])
            case .template(let properties): (.template(properties), [])
            }
        let audience: SendAudience
        var recipients: RecipientList?
        switch send.audience {
        case .everyone: audience = .all
        case .expression(let expression): audience = .tags(expression)
        case .list(let list): (audience, recipients) = (.list(list.count), list)
        }
        return NewJob(
            app: send.app,
            key: send.caller,
            work: .send(
                SendRequest(to: audience, platforms: services, content: content, original: send.original)
            ),
            lifetime: self.intake.jobLifetime,
            // The id of a repetition stands for the whole send.
            idempotency: send.trackingID.map { id in
                let caller = "key:\(send.caller ?? "")"
                return NewJob.Idempotency(caller: caller, route: "hub", key: id, hash: Array(id.utf8))
            },
            startsAt: send.startsAt.flatMap { $0 > .now ? $0 : nil },
            recipients: recipients,
            request: LogContext.request
        )
    }
}

extension HubReport {
    fileprivate init(_ job: Job, _ send: SendRequest) {
        let counts = job.counts.mapValues(\.hubOutcomes)
        self.init(
            state: HubSendState(job),
            devices: counts.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
        )
        self.counts = counts
        self.platformCounts = job.platformCounts.mapValues(\.hubOutcomes)
        (self.accepted, self.started, self.ended) = (job.accepted, job.started, job.finished)
        self.body = send.original?.body ?? Self.body(of: send.content)
        self.platform = send.original?.platform
        if case .tags(let expression) = send.audience { self.tags = expression.description }
        self.isForTemplates = send.content.kind == .template
        // For templates, only services that were sent to are known.
        self.services = self.isForTemplates ? job.counts.keys.sorted() : send.platforms
    }

    /// The notification as it goes out.
    private static func body(of content: Content) -> String {
        if case .template(let properties) = content { return JSONValue.texts(properties.values).compactText }
        guard case .native(let native) = content, let form = native.forms.first else { return "" }
        return String(decoding: form.body, as: UTF8.self)
    }
}
