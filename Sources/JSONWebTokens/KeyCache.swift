import Logging
import PushModel

/// An issuer's keys, read again in time, with one read at a time for all requests (decision 29).
///
/// Keys that are there are used while they are read anew, and while that fails, for a day at most. A read is waited for by tokens
/// with an unknown key, by the first of all, and by the first in a long time.
actor KeyCache {
    /// How often keys are read.
    struct Timing: Sendable {
        /// After which keys are read again.
        var refresh: Duration
        /// Without a read for this long, which tokens there were none for, the keys are too old to be used meanwhile.
        var idle: Duration
        /// After a failed read; while there are no keys at all, ``firstRetry``.
        var retry: Duration
        var firstRetry = Duration.seconds(5)
        /// Between two reads for the sake of unknown keys.
        var unknownKey = Duration.seconds(60)
        /// For how long keys are used that cannot be read again: whoever keeps them from us must not keep a stolen one in use.
        var stale = Duration.seconds(86_400)

        /// A file is read whenever it may have changed, an address every ten minutes.
        init(_ place: TokenSettings.KeySetPlace) {
            switch place {
            case .file: (self.refresh, self.retry) = (.seconds(5), .seconds(5))
            case .address: (self.refresh, self.retry) = (.seconds(600), .seconds(60))
            }
            self.idle = self.refresh + self.refresh / 10
        }
    }

    typealias Read = @Sendable () async throws(KeySetFault) -> [UInt8]

    private let read: Read
    private let timing: Timing
    private let waiting: WaitLimit
    private let logger: Logger
    private var current: (keys: KeySet, document: [UInt8], read: ContinuousClock.Instant)?
    private var fault: KeySetFault?
    /// When the last read began.
    private var began: ContinuousClock.Instant?
    private var beganForUnknown: ContinuousClock.Instant?
    private var reading: Task<Void, Never>?
    /// Whether the read under way is the first in a long time, so that all wait for it.
    private var isOverdue = false

    init(timing: Timing, waiting: WaitLimit, logger: Logger, read: @escaping Read) {
        self.timing = timing
        self.waiting = waiting
        self.logger = logger
        self.read = read
    }

    /// The keys that a declaration names.
    init(_ place: TokenSettings.KeySetPlace, waiting: WaitLimit, logger: Logger) {
        let source = KeySource(place, logger: logger)
        self.init(timing: Timing(place), waiting: waiting, logger: logger) { () throws(KeySetFault) in
            try await source.read()
        }
    }

    /// The key that a token may be signed with.
    ///
    /// - Parameters:
    ///   - id: The token's `kid`.
    ///   - algorithm: The token's.
    /// - Returns: The key.
    /// - Throws: ``TokenRefusal``.
    func key(id: String?, for algorithm: TokenSettings.Algorithm) async throws(TokenRefusal) -> PublicKey {
        if self.reading == nil, self.isDue {
            self.isOverdue = self.has(passed: self.timing.idle, since: self.began)
            self.begin()
        }
        // A token waits for one read at most: an issuer that does not answer takes the time of one.
        let hasWaited = self.isOverdue || self.current == nil
        if hasWaited { try await self.wait() }
        self.dropStale()
        guard let known = self.current?.keys else { throw .noKeys }
        if let key = known.key(id: id, for: algorithm) { return key }
        guard !hasWaited else { throw self.refusal }
        // The issuer may have a new key since.
        if self.reading == nil, self.has(passed: self.timing.unknownKey, since: self.beganForUnknown) {
            self.beganForUnknown = .now
            self.begin()
        }
        try await self.wait()
        guard let key = self.current?.keys.key(id: id, for: algorithm) else { throw self.refusal }
        return key
    }

    /// What a token gets whose key is not there: whether there is such a key cannot be said while keys cannot be read.
    private var refusal: TokenRefusal {
        self.fault == nil ? .invalid("the token's `kid` is not in the issuer's key set") : .noKeys
    }

    private var isDue: Bool {
        let pause =
            self.fault == nil
            ? self.timing.refresh : self.current == nil ? self.timing.firstRetry : self.timing.retry
        return self.has(passed: pause, since: self.began)
    }

    private func has(passed pause: Duration, since start: ContinuousClock.Instant?) -> Bool {
        start.map { ContinuousClock.now - $0 >= pause } ?? true
    }

    private func begin() {
        guard self.reading == nil else { return }
        self.began = .now
        // Not a part of the request that began it: others wait for it too.
        self.reading = Task {
            do throws(KeySetFault) {
                let document = try await self.read()
                self.succeed(try KeySet(json: document), document)
            } catch {
                if error.isGone { self.succeed(KeySet(), [], error.reason) } else { self.fail(error) }
            }
            self.reading = nil
            self.isOverdue = false
        }
    }

    /// Waits for the read under way, if there is one.
    private func wait() async throws(TokenRefusal) {
        guard let reading = self.reading else { return }
        // A flood of unknown keys while an issuer is slow must not hold all requests.
        guard self.waiting.enter() else { throw .busy }
        await reading.value
        self.waiting.leave()
    }

    private func succeed(_ keys: KeySet, _ document: [UInt8], _ reason: String = "has no key for RS256 or ES256") {
        if self.current?.document != document || self.fault != nil {
            if keys.count > 0 {
                self.logger.notice("The keys of the app's tokens were read", metadata: ["keys": "\(keys.count)"])
            } else {
                self.logger.warning("The app's tokens have no keys; all are refused", metadata: ["error": "\(reason)"])
            }
        }
        self.current = (keys, document, .now)
        self.fault = nil
    }

    /// Forgets keys that could not be read again for too long.
    private func dropStale() {
        guard self.fault != nil, let current, self.has(passed: self.timing.stale, since: current.read) else { return }
        self.current = nil
        self.logger.warning(
            "The keys of the app's tokens could not be read for a day; requests with its tokens get 503",
            metadata: ["error": "\(self.fault?.reason ?? "")"]
        )
    }

    private func fail(_ fault: KeySetFault) {
        // Once for each new fault: it is met again every minute.
        if self.fault != fault {
            self.logger.warning(
                self.current == nil
                    ? "The keys of the app's tokens cannot be read; requests with its tokens get 503"
                    : "The keys of the app's tokens cannot be read; those read before stay in use for a day",
                metadata: ["error": "\(fault.reason)"]
            )
        }
        self.fault = fault
    }
}
