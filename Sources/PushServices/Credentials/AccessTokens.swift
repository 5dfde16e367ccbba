/// Why there is no access token.
enum TokenFault: Error, Sendable, Equatable {
    /// The token service turned the credential down; a person must act.
    case misconfigured(reason: String, status: Int?)
    /// Try later.
    case later(after: Duration?, reason: String, status: Int?)

    /// The result for the devices of a send.
    var result: DeviceResult {
        switch self {
        // The status is the token service's, and no answer about a device.
        case .misconfigured(let reason, _): .misconfigured(reason: reason, status: nil)
        case .later(let after, let reason, let status):
            .retry(after: after, scope: .sender, counts: false, reason: reason, status: status)
        }
    }
}

/// An access token as a token service grants it.
struct AccessToken: Sendable, Equatable {
    let text: String
    let lifetime: Duration
}

/// Caches an access token and renews it in time, with one fetch at a time for all callers.
actor AccessTokens {
    /// Fetches a token, by that deadline.
    typealias Fetch = @Sendable (ContinuousClock.Instant) async throws(TokenFault) -> AccessToken

    /// A token with less time left is replaced; for a short-lived one, a tenth of its life.
    private static let earliness = Duration.seconds(300)
    /// After a failed fetch the next is not tried before this.
    private static let pause = Duration.seconds(5)

    private let timeout: Duration
    private let fetch: Fetch
    private var current: (text: String, refresh: ContinuousClock.Instant)?
    private var failed: (fault: TokenFault, until: ContinuousClock.Instant)?
    private var isFetching = false
    private var waiters: [Int: CheckedContinuation<Result<String, TokenFault>, Never>] = [:]
    private var nextWaiter = 0

    /// - Parameters:
    ///   - timeout: How long a fetch may take.
    ///   - fetch: Fetches a token.
    init(timeout: Duration = .seconds(10), fetch: @escaping Fetch) {
        self.timeout = timeout
        self.fetch = fetch
    }

    /// The token to use now.
    ///
    /// - Parameters:
    ///   - refused: A token that the push service turned down: it is not given again.
    ///   - deadline: How long the caller can wait.
    /// - Returns: The token's text.
    /// - Throws: ``TokenFault`` when there is none by then.
    func token(replacing refused: String? = nil, deadline: ContinuousClock.Instant) async throws(TokenFault) -> String {
        let now = ContinuousClock.now
        if let current = self.current, current.text != refused, now < current.refresh { return current.text }
        if let failed = self.failed, now < failed.until { throw failed.fault }
        if self.isFetching { return try await self.wait(until: deadline).get() }
        self.isFetching = true
        let result = await self.fetched(by: min(deadline, now + self.timeout))
        self.isFetching = false
        self.finish(result)
        return try result.get()
    }

    private func fetched(by deadline: ContinuousClock.Instant) async -> Result<String, TokenFault> {
        do throws(TokenFault) {
            let token = try await self.fetch(deadline)
            let refresh = ContinuousClock.now + token.lifetime - min(AccessTokens.earliness, token.lifetime / 10)
            self.current = (token.text, refresh)
            self.failed = nil
            return .success(token.text)
        } catch {
            // A cancellation is the caller's and does not concern the next fetch.
            if !Task.isCancelled { self.failed = (error, .now + AccessTokens.pause) }
            return .failure(error)
        }
    }

    private func finish(_ result: Result<String, TokenFault>) {
        let waiters = self.waiters
        self.waiters = [:]
        for waiter in waiters.values { waiter.resume(returning: result) }
    }

    private func wait(until deadline: ContinuousClock.Instant) async -> Result<String, TokenFault> {
        let number = self.nextWaiter
        self.nextWaiter += 1
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Ends early when the token has come.
                try? await Task.sleep(until: deadline, clock: .continuous)
                await self.giveUp(number)
            }
            let result = await withCheckedContinuation { self.waiters[number] = $0 }
            group.cancelAll()
            return result
        }
    }

    private func giveUp(_ number: Int) {
        self.waiters.removeValue(forKey: number)?
            .resume(returning: .failure(.later(after: nil, reason: "no access token in time", status: nil)))
    }
}
