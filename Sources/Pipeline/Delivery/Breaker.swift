import PushModel
import PushServices

/// Whether an app's messages go out to one push service: a circuit breaker.
///
/// It opens on a run of failures of the service, or when nearly all answers call the tokens bad. While it is open nothing is sent.
/// After a pause one message is let through, the probe: it closes the breaker, or opens it for twice as long.
package struct Breaker {
    /// When it opens, and for how long.
    package struct Configuration: Sendable {
        /// The failed devices, without as many answers, that open the breaker.
        package var failures = 100
        /// The least tokens called bad that open the breaker; of each owner only a few count (``TokenAnswers``).
        package var deadTokens = 100
        /// And they were this part of the answers.
        package var deadShare = 0.8
        /// The first pause; it doubles with each probe that fails.
        package var pause: Duration = .seconds(5)
        package var longestPause: Duration = .seconds(60)
        /// The most devices that a message sends to as a probe, over all its batches; the rest follows when the breaker has closed.
        package var probe = 20
        /// As ``failures``, of an app's hub over a wire: a call stands for many devices.
        package var failedCalls = 5

        package init() {}
    }

    /// Why it opens.
    typealias Cause = BreakerCause

    /// The breaker's decision on a message.
    enum Permission: Equatable {
        case free
        /// Its result decides, and ``record(_:as:now:)`` or ``leave(_:now:)`` must follow.
        case probe
        /// Nothing is to be sent for so long.
        case rejected(for: Duration, reason: WaitReason)
    }

    /// A change to be logged.
    enum Transition: Equatable {
        case opened(Cause, WaitReason)
        /// It stays open, for another cause than before.
        case reopened(WaitReason)
        case closed
    }

    private enum State {
        case closed
        case open(until: ContinuousClock.Instant)
        case probing
    }

    private let configuration: Configuration
    private var state = State.closed
    private var pause: Duration
    /// Why it opened last, or what its last probe failed of.
    private(set) var reason = WaitReason("")
    /// Devices that failed in a row, less those answered for between them.
    private var run = 0
    /// Whose devices failed in the run, where a device chooses its address; bounded by the run.
    private var runOwners = OwnerCounts()
    /// The last answers.
    private var answers = TokenAnswers()
    /// Why it is open; nil if it is closed.
    private var cause: Cause?
    /// The answers to the probes since it opened or the last pause began, if it is open for bad tokens.
    private var probed = TokenAnswers()
    /// It has closed after bad tokens: until many answers have come, a lower threshold opens it again.
    private var isOnTrial = false

    /// The number of answers remembered.
    private static let memory = 2000
    /// Fewer answers prove nothing about tokens: another probe follows.
    private static let fewAnswers = 10
    /// How long others wait while the probe is under way.
    private static let probing = Duration.seconds(1)

    init(_ configuration: Configuration) {
        self.configuration = configuration
        self.pause = configuration.pause
    }

    var isOpen: Bool {
        if case .closed = self.state { false } else { true }
    }

    /// Asks to send, without taking the probe.
    func peek(now: ContinuousClock.Instant) -> Permission {
        switch self.state {
        case .closed: .free
        case .open(let until) where until <= now: .probe
        case .open(let until): .rejected(for: now.duration(to: until), reason: self.reason)
        case .probing: .rejected(for: Self.probing, reason: self.reason)
        }
    }

    /// Asks to send; the first after a pause becomes the probe.
    mutating func enter(now: ContinuousClock.Instant) -> Permission {
        let permission = self.peek(now: now)
        if permission == .probe { self.state = .probing }
        return permission
    }

    /// Gives the right to send back without a result.
    mutating func leave(_ permission: Permission, now: ContinuousClock.Instant) {
        if permission == .probe, case .probing = self.state { self.state = .open(until: now) }
    }

    /// Records the results of a send.
    mutating func record(
        _ statistics: SendStatistics,
        as permission: Permission,
        now: ContinuousClock.Instant
    ) -> Transition? {
        guard statistics.answered + statistics.failed > 0 else {
            self.leave(permission, now: now)
            return nil
        }
        let repeated = statistics.failedOwners.count { !self.runOwners.adds($0) }
        self.run = max(0, self.run + statistics.failed - repeated - statistics.answered)
        if self.run == 0 { self.runOwners = OwnerCounts() }
        self.answers.add(statistics)
        defer { if self.answers.count > Self.memory { self.answers.halve() } }
        switch self.state {
        case .closed:
            if self.run >= self.configuration.failures {
                return self.open(Self.cause(of: statistics), statistics, now: now)
            }
            if self.isFlood(statistics) { return self.open(.tokens, statistics, now: now) }
            if self.answers.count >= self.configuration.deadTokens { self.isOnTrial = false }
            return nil
        case .probing where permission == .probe: return self.judge(statistics, now: now)
        case .probing, .open:
            // It began before the breaker opened.
            return nil
        }
    }

    /// Closes or reopens according to the results of a probe.
    private mutating func judge(_ statistics: SendStatistics, now: ContinuousClock.Instant) -> Transition? {
        var isBad = statistics.failed >= max(1, statistics.answered)
        if !isBad, self.cause == .tokens {
            self.probed.add(statistics)
            guard self.probed.count >= Self.fewAnswers else {
                self.state = .open(until: now)
                return nil
            }
            isBad = self.probed.isFlood(of: 1, share: self.configuration.deadShare)
        }
        self.probed = TokenAnswers()
        if isBad { return self.reopen(statistics, now: now) }
        if self.cause == .tokens { (self.answers, self.isOnTrial) = (TokenAnswers(), true) }
        (self.state, self.pause, self.run, self.cause) = (.closed, self.configuration.pause, 0, nil)
        self.runOwners = OwnerCounts()
        return .closed
    }

    /// Stays open for twice as long.
    private mutating func reopen(_ statistics: SendStatistics, now: ContinuousClock.Instant) -> Transition? {
        self.pause = min(self.pause * 2, self.configuration.longestPause)
        self.state = .open(until: now.advanced(by: max(self.pause, statistics.asked ?? .zero)))
        // A service that fails proves nothing about tokens: they stay in doubt.
        guard self.cause != .tokens else { return nil }
        let last = self.cause
        let cause = Self.cause(of: statistics)
        (self.cause, self.reason) = (cause, Self.reason(cause, statistics))
        // The words of one cause differ with each probe, as by a hub's tracking id.
        return cause == last ? nil : .reopened(self.reason)
    }

    /// Whether it is open because of bad tokens: such answers are then doubtful.
    var doubtsTokens: Bool { self.isOpen && self.cause == .tokens }

    /// Whether nearly all of many answers call the tokens bad: those of this send, or of the last ones.
    func isFlood(_ statistics: SendStatistics) -> Bool {
        guard statistics.dead > 0 else { return false }
        // An ongoing flood shows in the next few answers after the breaker has closed; tokens below a flood are pruned.
        let least = self.isOnTrial ? max(1, self.configuration.deadTokens / 5) : self.configuration.deadTokens
        return [TokenAnswers(statistics), self.answers].contains {
            $0.isFlood(of: least, share: self.configuration.deadShare)
        }
    }

    private mutating func open(
        _ cause: Cause,
        _ statistics: SendStatistics,
        now: ContinuousClock.Instant
    ) -> Transition {
        self.cause = cause
        self.reason = Self.reason(cause, statistics)
        self.state = .open(until: now.advanced(by: max(self.pause, statistics.asked ?? .zero)))
        return .opened(cause, self.reason)
    }

    /// Why the failures of a send are failures.
    private static func cause(of statistics: SendStatistics) -> Cause {
        statistics.rejection == nil ? .service : .credentials
    }

    private static func reason(_ cause: Cause, _ statistics: SendStatistics) -> WaitReason {
        let said =
            switch cause {
            case .service: statistics.fault
            case .credentials: statistics.rejection ?? ""
            case .tokens: statistics.deadReason
            }
        return WaitReason(cause, at: statistics.pns, with: statistics.credential, said)
    }
}

/// The evidence of a send's results about the push service.
struct SendStatistics {
    /// The push service.
    ///
    /// nil = the app's hub over a wire.
    let pns: PushService?
    /// With which of the app's credentials it was sent.
    let credential: CredentialName
    /// Devices with any answer of the service.
    var answered = 0
    /// Devices that it, or the way to it, failed.
    var failed = 0
    /// The indexes of those of them where it may be the address' fault, which the device chose.
    var failedAt: [Int] = []
    /// Whom those count for: of each owner a few do (``OwnerCounts``).
    var failedOwners: [TokenOwner?] = []
    /// The indexes of the results that call the token bad.
    var deadAt: [Int] = []
    /// Whom those tokens count for; nil = nobody, or not looked up: each counts by itself.
    var owners: [TokenOwner?] = []
    var fault = ""
    /// The service's complaint about the app's credentials.
    var rejection: String?
    /// What it says beyond that, for the operator alone.
    var rejectionDetail: String?
    var deadReason = ""
    /// The longest wait that the service asked for.
    var asked: Duration?

    /// How many of the answers call the token bad.
    var dead: Int { self.deadAt.count }
    /// How many do not.
    var live: Int { self.answered - self.dead }

    /// - Parameters:
    ///   - results: The results of a send.
    ///   - pns: The service. If devices choose the host, a missing answer is not evidence about the service, and other failures
    ///     count by owner.
    ///   - credential: With which of the app's credentials it was sent.
    init(
        _ results: some Sequence<DeviceResult>,
        of pns: PushService? = .apns,
        _ credential: CredentialName = .default
    ) {
        self.pns = pns
        self.credential = credential
        let deviceChoosesHost = pns?.descriptor.deviceChoosesHost ?? false
        for (place, result) in results.enumerated() {
            switch result {
            case .accepted, .rejected, .retry(_, .device, _, _, _): self.answered += 1
            case .dead(_, let reason, _):
                self.answered += 1
                self.deadAt.append(place)
                self.deadReason = reason
            case .retry(_, .sender, _, _, nil) where deviceChoosesHost: break
            case .unanswered where deviceChoosesHost: break
            case .retry(let after, .sender, let counts, let reason, let status):
                self.failed += 1
                if deviceChoosesHost, counts { self.failedAt.append(place) }
                self.fault = status.map { "\($0) \(reason)" } ?? reason
                if let after { self.asked = max(self.asked ?? .zero, after) }
            case .unanswered(let reason), .unknown(let reason):
                self.failed += 1
                self.fault = reason
            case .misconfigured(let reason, let status, let detail):
                self.failed += 1
                // Without a status it was not the device's address that refused: no token was to be had.
                if deviceChoosesHost, status != nil { self.failedAt.append(place) }
                (self.rejection, self.rejectionDetail) = (reason, detail)
            case .unsent, .settled, .together: break
            }
        }
        self.owners = Array(repeating: nil, count: self.dead)
        self.failedOwners = Array(repeating: nil, count: self.failedAt.count)
    }
}
