public import Foundation

extension PushlineClient {
    /// Sends a notification.
    ///
    /// When this returns, the send is durable and will be processed. After ``PushlineError/Code/timeout``,
    /// ``PushlineError/Code/unreachable`` or ``PushlineError/Code/unavailable``, repeat it with the same idempotency
    /// key: nothing is sent twice.
    ///
    /// - Parameters:
    ///   - notification: The notification and its audience.
    ///   - idempotencyKey: The send's key: up to 255 visible ASCII characters, kept by the server for a day. A new one
    ///     by default.
    /// - Returns: The accepted job, or the present state of the job accepted for the same key before.
    /// - Throws: ``PushlineError``.
    public func send(
        _ notification: PushNotification,
        idempotencyKey: String = UUID().uuidString
    ) async throws -> Job {
        try await self.send(notification, adding: nil, idempotencyKey: idempotencyKey)
    }

    /// Sends a notification with further members that are JSON already, an object: its bytes are sent as they are.
    package func send(_ notification: PushNotification, adding written: Data?, idempotencyKey: String) async throws
        -> Job
    {
        let headers = ["Idempotency-Key": idempotencyKey]
        let body = try Coding.body(notification, adding: written)
        return try await self.value(Call(method: "POST", path: ["sends"], headers: headers, body: body))
    }

    /// Counts the devices that a send would reach; nothing is sent.
    ///
    /// - Parameters:
    ///   - audience: The audience.
    ///   - services: The services; nil = all.
    /// - Returns: The count. The server stops counting after some seconds.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/unavailable`` also for too many concurrent counts.
    public func count(
        _ audience: PushNotification.Audience,
        services: [PushNotification.Service]? = nil
    ) async throws -> AudienceCount {
        let body = try Coding.body(CountRequest(to: audience, services: services))
        return try await self.value(Call(method: "POST", path: ["sends", "count"], body: body))
    }

    /// Shows what each push service would get of a notification; nothing is sent.
    ///
    /// - Parameter notification: The notification and its audience.
    /// - Returns: The payloads, with their sizes and what is wrong with them.
    /// - Throws: ``PushlineError``.
    public func preview(_ notification: PushNotification) async throws -> SendPreview {
        try await self.preview(notification, adding: nil)
    }

    /// The same with further members that are JSON already.
    package func preview(_ notification: PushNotification, adding written: Data?) async throws -> SendPreview {
        let call = Call(
            method: "POST",
            path: ["sends", "preview"],
            body: try Coding.body(notification, adding: written)
        )
        return try await self.value(call)
    }

    /// A job in its present state.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` also for somebody else's.
    public func job(_ id: String) async throws -> Job {
        try await self.value(Call(method: "GET", path: ["jobs", id]))
    }

    /// Lists jobs, newest first: the caller's own, or for an operator the app's.
    ///
    /// - Parameters:
    ///   - state: Only those in that state.
    ///   - kind: `send` or `register`.
    ///   - service: Only those sent through that push service.
    ///   - user: Only those by this user.
    ///   - label: Only those with this label.
    ///   - key: Only those that this key asked for.
    ///   - unfinished: Whether only those that have not come to their end.
    ///   - failures: Whether only sends of which something failed, expired or was abandoned.
    ///   - since: Only those accepted since then.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: The cursor of the page before.
    /// - Returns: A page of the list.
    /// - Throws: ``PushlineError``.
    public func jobs(
        state: String? = nil,
        kind: String? = nil,
        service: PushNotification.Service? = nil,
        user: String? = nil,
        label: String? = nil,
        key: String? = nil,
        unfinished: Bool = false,
        failures: Bool = false,
        since: Date? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<Job> {
        let query = [
            ("state", state), ("kind", kind), ("service", service?.rawValue), ("user", user), ("label", label),
            ("key", key), ("unfinished", unfinished ? "true" : nil), ("failures", failures ? "true" : nil),
            ("since", since.map(Coding.text)), ("limit", limit.map(String.init)), ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["jobs"], query: query))
    }

    /// Lists the recorded outcomes of a send's devices: the failures, or all if the app records all.
    ///
    /// - Parameters:
    ///   - job: The send's id.
    ///   - outcome: `accepted`, or a class of failure.
    ///   - service: Only those of that push service.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: The cursor of the page before.
    /// - Returns: A page of the list.
    /// - Throws: ``PushlineError``.
    public func deliveries(
        of job: String,
        outcome: String? = nil,
        service: PushNotification.Service? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<Delivery> {
        let query = [
            ("outcome", outcome), ("service", service?.rawValue), ("limit", limit.map(String.init)), ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["jobs", job, "deliveries"], query: query))
    }

    /// Cancels a running send.
    ///
    /// - Returns: The job after the call; devices in progress are still being counted while its state is `cancelling`.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` when the job is final.
    public func cancel(_ job: String) async throws -> Job {
        try await self.value(Call(method: "DELETE", path: ["jobs", job]))
    }

    /// Cancels all unfinished sends that match, up to 1,000 of them; for operators.
    ///
    /// - Parameters:
    ///   - filter: What they have in common.
    ///   - last: The newest one that is meant: sends that were accepted later stay.
    ///   - dryRun: Whether they are only counted.
    /// - Returns: What came of it; while ``BulkCancel/left`` is above 0 call it again.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/invalidRequest`` for a filter of nothing.
    public func cancel(_ filter: JobFilter, upTo last: String, dryRun: Bool = false) async throws -> BulkCancel {
        let body = try Coding.body(
            CancelBody(
                label: filter.label,
                state: filter.state,
                key: filter.key,
                user: filter.user,
                upTo: last,
                dryRun: dryRun ? true : nil
            )
        )
        return try await self.value(Call(method: "POST", path: ["jobs", "cancel"], body: body))
    }

    /// Polls a job until it is final.
    ///
    /// Polls often at first and every two seconds later. Connection failures are tolerated until the time is over.
    ///
    /// - Parameters:
    ///   - id: The job's id.
    ///   - time: The longest wait.
    ///   - onChange: Called with the job at every change, including the first and last state.
    /// - Returns: The last state seen; final, unless the time was over.
    /// - Throws: ``PushlineError`` if the job cannot be read, and the error of `onChange`.
    public func waitForOutcome(
        of id: String,
        within time: Duration = .seconds(24 * 3600),
        onChange: (Job) async throws -> Void = { _ in }
    ) async throws -> Job {
        let end = ContinuousClock.now + time
        var pause = Duration.milliseconds(200)
        var last: Job?
        while true {
            do {
                let job = try await self.job(id)
                if job != last { try await onChange(job) }
                last = job
                if job.isFinal || ContinuousClock.now >= end { return job }
            } catch let error as PushlineError where error.isPassing && ContinuousClock.now < end {
                // The server may be restarting: the next poll will show.
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 1.5, .seconds(2))
        }
    }
}

/// How many devices a send would be for.
public struct AudienceCount: Sendable, Equatable, Codable {
    /// Over all services.
    public let total: Int
    /// By service.
    public let counts: [String: Int]
    /// False if the server stopped counting: the counts are then lower bounds.
    public let isComplete: Bool
}

private struct CountRequest: Encodable {
    let to: PushNotification.Audience
    let services: [PushNotification.Service]?
}

extension PushlineError {
    /// Whether the same call may succeed later.
    public var isPassing: Bool {
        switch self.code {
        case .unreachable, .timeout, .tooManyRequests, .unavailable: true
        default: false
        }
    }
}
