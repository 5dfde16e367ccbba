import HTTPTypes
package import Hummingbird
import NIOConcurrencyHelpers
package import PushModel
import Settings

/// The limits of callers: requests a second, requests in progress, and their bodies.
package struct CallerLimits: Sendable {
    private let inFlight: Int
    private let requestsPerSecond: Int
    private let body: BodyReader
    private let limiter = RateLimiter()
    /// Requests that are not authenticated yet.
    private let arriving = NIOLockedValueBox(0)
    /// Authenticated requests in progress whose bodies are read.
    private let working: FairPermits
    /// Those among them whose bodies are long enough for the thread of their own.
    private let large = FairPermits(64)

    /// - Parameters:
    ///   - limits: The limits of the server.
    ///   - large: Where large bodies are kept, and worked on.
    package init(limits: ServingLimits, large: LargeBodies) {
        self.inFlight = limits.settings.inFlight
        self.requestsPerSecond = limits.settings.requestsPerSecond
        self.body = BodyReader(limits: limits, large: large)
        self.working = FairPermits(self.inFlight)
    }

    /// Does what precedes authentication and is part of it, within a limit of its own: there is no caller yet to share by.
    package func arrive<Value>(_ work: () async throws -> Value) async throws -> Value {
        let isFree = self.arriving.withLockedValue { count in
            guard count < self.inFlight else { return false }
            count += 1
            return true
        }
        guard isFree else { throw Self.tooMany }
        defer { self.arriving.withLockedValue { $0 -= 1 } }
        return try await work()
    }

    /// Reads a caller's body and works on the request, within the caller's share.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - kind: The kind of body.
    ///   - caller: The caller.
    ///   - spec: The caller's app.
    ///   - connection: Asks for a body, and ends an overdue one.
    ///   - work: The work.
    /// - Returns: What the work returns.
    /// - Throws: ``Problem``: 429 and 503 where the share is used up, and those of ``BodyReader``.
    package func work<Value: Sendable>(
        _ request: Request,
        body kind: BodyKind,
        caller: Caller,
        spec: AppSpec,
        connection: BodyConnection,
        _ work: @Sendable (BodyReader.Body) async throws -> Value
    ) async throws -> Value {
        let rate = spec.requestsPerSecond ?? self.requestsPerSecond
        if let seconds = self.limiter.take(caller, rate: rate) {
            throw Problem.later(.tooManyRequests, "too many requests a second from this caller", seconds: seconds)
        }
        let body = try await self.body.read(request, kind: kind, caller: caller, connection: connection)
        defer { withExtendedLifetime(body.permit) {} }
        guard self.working.take(for: caller) else { throw Self.tooMany }
        defer { self.working.release(of: caller) }
        guard body.bytes.count > LargeWork.least else { return try await work(body) }
        // They are worked on one after the other: a caller who sends many shall not stand before everybody else of its app.
        guard self.large.take(for: caller) else { throw Self.tooMany }
        defer { self.large.release(of: caller) }
        return try await self.body.large.thread.run(for: caller.app) {
            // It may have waited long, and whoever was to get the answer may be gone.
            try Task.checkCancellation()
            return try await work(body)
        }
    }

    private static let tooMany = Problem.later(.serviceUnavailable, "too many requests are in progress", seconds: 1)
}
