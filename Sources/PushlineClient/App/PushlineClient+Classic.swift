public import Foundation

extension PushlineClient {
    /// Deletes a registration, as an app does at sign-out.
    ///
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` when there is none.
    public func unregister(_ id: String) async throws {
        try await self.acknowledgement(Call(method: "DELETE", path: ["register", id]))
    }

    /// Sends a text to a user's devices at one push service; they show `From <sender>: <text>`.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - user: The recipient.
    ///   - service: The push service. Others need a call each.
    ///   - idempotencyKey: Repeat the call with the same key where its answer is lost: nothing is sent twice.
    /// - Returns: The job's id; nil from a server that has no jobs.
    /// - Throws: ``PushlineError``.
    @discardableResult
    public func sendMessage(
        _ text: String,
        to user: String,
        through service: PushNotification.Service,
        idempotencyKey: String = UUID().uuidString
    ) async throws -> String? {
        let call = Call(
            method: "POST",
            path: ["notifications"],
            query: [("pns", service.rawValue), ("to_tag", user)],
            headers: ["Content-Type": "application/json;charset=utf-8", "Idempotency-Key": idempotencyKey],
            body: try Coding.body(text)
        )
        return try await self.acknowledgement(call).headers["pushline-job"]
    }

    /// Sends a text to a user's devices at several push services: one call each, in their order.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - user: The recipient.
    ///   - services: The push services.
    ///   - onResult: Called with each call's result as it comes.
    /// - Throws: `CancellationError`.
    public func sendMessage(
        _ text: String,
        to user: String,
        through services: [PushNotification.Service],
        onResult: (ClassicResult) async -> Void
    ) async throws {
        for service in services {
            do {
                let job = try await self.sendMessage(text, to: user, through: service)
                await onResult(ClassicResult(service: service, job: job, error: nil))
            } catch let error as PushlineError {
                await onResult(ClassicResult(service: service, job: nil, error: error))
            }
        }
    }

    /// Stores a rich notification for the caller, and tells the caller's own devices to fetch it.
    ///
    /// - Parameters:
    ///   - message: Shown by the app when it has fetched the content; nil = the app's default on the server.
    ///   - richType: `img`, or a type of your own; nil = the app's default.
    ///   - content: The id of uploaded content; nil = the app's default.
    ///   - secure: Whether the push carries nothing but a number; nil = the app's default.
    ///   - services: The push services; nil = APNs.
    ///   - idempotencyKey: Repeat the call with the same key where its answer is lost: nothing is sent twice.
    /// - Returns: The job's id; nil from a server that has no jobs.
    /// - Throws: ``PushlineError``.
    @discardableResult
    public func sendRich(
        message: String? = nil,
        richType: String? = nil,
        content: String? = nil,
        secure: Bool? = nil,
        services: [PushNotification.Service]? = nil,
        idempotencyKey: String = UUID().uuidString
    ) async throws -> String? {
        struct Body: Encodable {
            let message: String?
            let richType: String?
            let content: String?
            let secure: Bool?
            let platforms: [PushNotification.Service]?
        }
        let body = try Coding.body(
            Body(message: message, richType: richType, content: content, secure: secure, platforms: services)
        )
        var call = Call(method: "POST", path: ["notifications"], headers: ["Idempotency-Key": idempotencyKey])
        // Without a body everything is the app's default.
        if body != Data("{}".utf8) { call.body = body }
        return try await self.acknowledgement(call).headers["pushline-job"]
    }

    /// Fetches the content of a rich or secure notification, which marks it as read.
    ///
    /// - Parameter id: The number from the push: see ``ReceivedPush``.
    /// - Returns: The content.
    /// - Throws: ``PushlineError``; ``PushlineError/Code/notFound`` also for somebody else's.
    public func fetchRich(_ id: Int) async throws -> RichContent {
        let call = Call(method: "GET", path: ["notifications", String(id)], headers: ["Accept": "*/*"])
        return try RichContent(try await self.answer(call), id: id)
    }

    /// Makes a call whose success has no body: a body comes from something else, such as a network's sign-in page.
    @discardableResult
    func acknowledgement(_ call: Call) async throws -> HTTPAnswer {
        let answer = try await self.answer(call)
        guard answer.body.isEmpty else {
            throw PushlineError(
                .unexpectedAnswer,
                "the answer to \(call.method) is not Pushline's: it has a body of \(answer.body.count) bytes"
            )
        }
        return answer
    }
}

/// What came of a classic send at one push service.
public struct ClassicResult: Sendable, Equatable {
    /// The push service.
    public let service: PushNotification.Service
    /// The job, where the send was accepted.
    public let job: String?
    /// nil = the send was accepted.
    public let error: PushlineError?

    /// Creates a result.
    public init(service: PushNotification.Service, job: String?, error: PushlineError?) {
        self.service = service
        self.job = job
        self.error = error
    }
}
