import Payloads
import PushModel
import PushlineLogging
import Store

/// Sends as jobs.
struct SendJobs: Sendable {
    let context: RouteContext

    /// Accepts a send.
    ///
    /// - Parameters:
    ///   - send: The send.
    ///   - priority: The priority.
    ///   - request: The request, with the caller.
    ///   - startsAt: The start; nil = now.
    ///   - notification: The rich notification to store with the send.
    ///   - label: The sender's own name for it.
    ///   - recipients: The devices, where the send names them one by one.
    ///   - route: The route's name for `Idempotency-Key`; nil = the route ignores the header.
    /// - Returns: The job, and whether what the request waits for has come in time.
    /// - Throws: ``Problem``; `StoreError` when it could not be accepted.
    func take(
        _ send: SendRequest,
        priority: Priority,
        request: APIRequest,
        startsAt: Timestamp? = nil,
        notification: NewRichNotification? = nil,
        label: JobLabel? = nil,
        recipients: RecipientList? = nil,
        idempotentAs route: String?
    ) async throws -> JobAnswer {
        let caller = try request.caller
        let key = try route.flatMap { try request.idempotency(route: $0) }
        let job = try self.job(
            send,
            priority: priority,
            caller: caller,
            app: request.app,
            spec: request.spec,
            idempotency: key.map {
                NewJob.Idempotency(caller: caller.description, route: $0.route, key: $0.key, hash: $0.hash)
            },
            startsAt: startsAt,
            notification: notification,
            label: label,
            recipients: recipients
        )
        let wait = JobWait(request, for: job.work, startsAt: job.startsAt, self.context.configuration)
        return try await self.context.intake.take(job, wait)
    }

    /// The job of a send.
    ///
    /// - Throws: ``Problem`` 422 for what the app's hub cannot take.
    func job(
        _ send: SendRequest,
        priority: Priority,
        caller: Caller,
        app: AppID,
        spec: AppSpec,
        idempotency: NewJob.Idempotency?,
        startsAt: Timestamp?,
        notification: NewRichNotification? = nil,
        label: JobLabel? = nil,
        recipients: RecipientList? = nil
    ) throws -> NewJob {
        let addressed = try spec.azureHub.map { try HubAddressing(send, recipients, at: $0) }
        let start = startsAt.flatMap { $0 > .now ? $0 : nil }
        return NewJob(
            app: app,
            user: caller.user,
            key: caller.key,
            priority: priority,
            work: .send(addressed?.send ?? send),
            lifetime: self.lifetime(of: send),
            idempotency: idempotency,
            startsAt: start,
            notification: notification,
            label: label,
            recipients: addressed?.recipients ?? recipients,
            request: LogContext.request
        )
    }

    /// A time to live bounds the job too; 0 is one try, whenever its turn comes within the usual life of a job.
    private func lifetime(of send: SendRequest) -> Duration {
        guard let ttl = send.timeToLive, ttl > .zero else { return self.context.configuration.jobLifetime }
        return ttl
    }

    /// Refuses payloads that a push service would refuse: beyond its limit, or with reserved names.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - named: The services; empty = all services the app has credentials for.
    ///   - options: The delivery options.
    ///   - spec: The app.
    /// - Throws: ``Problem`` 400 that names the member.
    static func check(
        _ content: Content,
        for named: [PushService],
        options: PayloadFormatter.Options = PayloadFormatter.Options(),
        spec: AppSpec
    ) throws {
        if case .message(let message) = content, message.isSurelySmall { return }
        // An app that has none yet may have any when its turn comes.
        let all = spec.services.isEmpty ? PushService.inService : spec.services
        var wanted = (named.isEmpty ? all : named).filter(\.isInService)
        var content = content
        if case .native(let native) = content {
            try Self.measure(content, for: native.services, options)
            guard let message = native.message else { return }
            content = .message(message)
            wanted.removeAll { native[$0] != nil }
        }
        // Content that no service in use takes is measured as well: the job stores and lists it.
        try Self.measure(content, for: wanted.isEmpty ? PushService.inService : wanted, options)
    }

    private static func measure(
        _ content: Content,
        for services: [PushService],
        _ options: PayloadFormatter.Options
    ) throws {
        for pns in services {
            do throws(InvalidValue) {
                _ = try PayloadFormatter.format(content, for: pns, options: options)
            } catch {
                // The whole is too large: its text is the first to shorten.
                throw Problem.invalid([error.member.isEmpty ? error.named("body") : error])
            }
        }
    }
}

extension Content.Message {
    private static let smallestLimit =
        PushService.inService.flatMap(\.descriptor.kinds).map(\.maximumPayload).min() ?? 0

    /// Whether every service accepts it in any encoding: a short text without data.
    fileprivate var isSurelySmall: Bool {
        // Six bytes are the most that a byte of text becomes, in JSON and in XML.
        let size = ((self.title?.utf8.count ?? 0) + (self.body?.utf8.count ?? 0)) * 6 + 512
        return self.data.isEmpty && self.members == nil && size <= Self.smallestLimit
    }
}
