public import Foundation

extension PushlineClient {
    /// Sends a notification.
    ///
    /// When this returns, the send is durable and will be worked on. Where it throws ``PushlineError/Code/timeout``,
    /// ``PushlineError/Code/unreachable`` or ``PushlineError/Code/unavailable``, repeat it with the same idempotency key:
    /// nothing is sent twice.
    ///
    /// - Parameters:
    ///   - notification: What is to be sent, and to whom.
    ///   - idempotencyKey: Names this send: up to 255 visible ASCII characters, kept by the server for a day. A new one unless given.
    /// - Returns: The job as it was accepted, or as it is now where the same send was accepted before.
    /// - Throws: ``PushlineError``.
    public func send(
        _ notification: PushNotification,
        idempotencyKey: String = UUID().uuidString
    ) async throws -> Job {
        let headers = ["Idempotency-Key": idempotencyKey]
        let body = try Coding.body(notification)
        return try await self.value(Call(method: "POST", path: ["sends"], headers: headers, body: body))
    }

    /// How many devices a send would be for; nothing is sent.
    ///
    /// - Parameters:
    ///   - audience: Whom the send would be for.
    ///   - platforms: The services that it would go through; nil = all.
    /// - Returns: The count. The server counts for some seconds at most.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/unavailable`` also when too many audiences are being counted at once.
    public func count(
        _ audience: PushNotification.Audience,
        platforms: [Platform]? = nil
    ) async throws -> AudienceCount {
        let body = try Coding.body(CountRequest(to: audience, platforms: platforms))
        return try await self.value(Call(method: "POST", path: ["sends", "count"], body: body))
    }

    /// A job in its present state.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` also for somebody else's.
    public func job(_ id: String) async throws -> Job {
        try await self.value(Call(method: "GET", path: ["jobs", id]))
    }

    /// Jobs, newest first: one's own, or for an operator the app's.
    ///
    /// - Parameters:
    ///   - state: Those in that state.
    ///   - kind: `send` or `register`.
    ///   - platform: Those that went through that push service.
    ///   - user: Only those by this user.
    ///   - since: Those accepted since then.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: From the piece before.
    /// - Returns: A piece of the list.
    /// - Throws: ``PushlineError``.
    public func jobs(
        state: String? = nil,
        kind: String? = nil,
        platform: Platform? = nil,
        user: String? = nil,
        since: Date? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<Job> {
        let query = [
            ("state", state), ("kind", kind), ("pns", platform?.rawValue), ("user", user),
            ("since", since.map(Coding.text)),
            ("limit", limit.map(String.init)), ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["jobs"], query: query))
    }

    /// The devices of a send whose outcome was recorded: those that failed, or all where the app records all.
    ///
    /// - Parameters:
    ///   - job: The send's id.
    ///   - outcome: `accepted`, or a class of failure.
    ///   - platform: Those of that push service.
    ///   - limit: The most to return, 1 to 1000.
    ///   - cursor: From the piece before.
    /// - Returns: A piece of the list.
    /// - Throws: ``PushlineError``.
    public func deliveries(
        of job: String,
        outcome: String? = nil,
        platform: Platform? = nil,
        limit: Int? = nil,
        cursor: String? = nil
    ) async throws -> Page<Delivery> {
        let query = [
            ("outcome", outcome), ("pns", platform?.rawValue), ("limit", limit.map(String.init)), ("cursor", cursor),
        ]
        return try await self.value(Call(method: "GET", path: ["jobs", job, "deliveries"], query: query))
    }

    /// Stops a send that is still going out.
    ///
    /// - Returns: The job as it is then; what is out is still being counted while its state is `cancelling`.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/conflict`` when the job is final.
    public func cancel(_ job: String) async throws -> Job {
        try await self.value(Call(method: "DELETE", path: ["jobs", job]))
    }

    /// Asks again and again until a job is final.
    ///
    /// Asks often at first and every two seconds later. Failures to reach the server are borne until the time is over.
    ///
    /// - Parameters:
    ///   - id: The job's id.
    ///   - time: The longest to wait.
    ///   - onChange: Called with the job whenever it has changed, also the first and the last time.
    /// - Returns: The job as it was last seen; final, unless the time was over.
    /// - Throws: ``PushlineError`` where the job cannot be seen, and what `onChange` throws.
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
                // The server may be restarting: the next look tells.
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
    /// False when the server's time was over before all was counted: then there are at least so many.
    public let isComplete: Bool
}

private struct CountRequest: Encodable {
    let to: PushNotification.Audience
    let platforms: [Platform]?
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
