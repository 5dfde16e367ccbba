import Dispatch
import Metrics
import NIOConcurrencyHelpers
import NIOCore
package import PushModel
import PushlineMetrics

/// Checks passwords off the event loops, as many at a time as there are cores but one, and remembers which were right.
package final class PasswordVerifier: Sendable {
    private let memory: PasswordMemory
    private let queues: NIOLockedValueBox<SignInQueues>
    private let queue = DispatchQueue(label: "pushline.passwords", attributes: .concurrent)
    /// Of new passwords one is hashed at a time: those who sign in come first.
    private let newPasswords = DispatchQueue(label: "pushline.passwords.new")
    /// Compared with when there is no such account, so that the answer takes as long as for a wrong password.
    private let decoy: String
    private let computed = NIOLockedValueBox(0)
    private let waiting = MetricDescription.signInWaiting.gauge()

    /// How many hashes were computed.
    package var computations: Int { self.computed.withLockedValue { $0 } }

    /// - Parameters:
    ///   - lifetime: How long a right password is remembered after its last use.
    ///   - threads: Checks at a time; one core is left for everything else.
    ///   - mostWaiting: Requests that may wait.
    ///   - decoy: A hash that no password is known for, of the cost that accounts have.
    package init(
        lifetime: Duration = .seconds(12 * 3600),
        threads: Int = max(1, System.coreCount - 1),
        mostWaiting: Int = 256,
        decoy: String = PasswordVerifier.standardDecoy
    ) {
        self.memory = PasswordMemory(lifetime: lifetime, capacity: 100_000)
        // The number of checks that a thread finishes in half a minute; further ones would time out in the queue.
        self.queues = NIOLockedValueBox(SignInQueues(threads: threads, capacity: min(128 * threads, mostWaiting)))
        self.decoy = decoy
    }

    /// A hash of standard cost with constant salt, of no known password.
    package static let standardDecoy =
        "scrypt$16384$8$5$cHVzaGxpbmUgZGVjb3kgcw==$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    /// Whether the password is right.
    ///
    /// - Parameters:
    ///   - password: The caller's password.
    ///   - name: The name given by the caller; it need not exist.
    ///   - app: The app.
    ///   - stored: The account's hash, or nil when there is no account that may sign in.
    ///   - client: The client; ignored for a remembered password.
    /// - Returns: true for the right password of an account that may sign in.
    /// - Throws: ``SignInQueues/TurnedAway`` when too many checks of better rank wait already.
    package func verify(
        _ password: String,
        name: String,
        app: AppID,
        stored: String?,
        client: () -> IPAddress
    ) async throws -> Bool {
        let pair = self.memory.pair(password, stored ?? self.decoy)
        // The decoy fits no password, so it is never remembered.
        if self.memory.recall(pair) { return true }
        let key = SignInQueues.Key(app: app, name: ExactText(name), pair: pair)
        let work = SignInQueues.Work(key: key, password: password, stored: stored)
        let client = client()
        return try await withCheckedThrowingContinuation { continuation in
            let turnedAway = self.queues.withLockedValue { queues in
                queues.enter(work, client: client, now: .now) { continuation.resume(with: $0) }
            }
            for answer in turnedAway { answer(.failure(SignInQueues.TurnedAway())) }
            self.begin()
        }
    }

    /// The hash of a new password.
    ///
    /// - Throws: `InvalidValue` when the password is too short or too long.
    package func hash(_ password: String) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            self.newPasswords.async { continuation.resume(with: Result { try PasswordHash.make(password) }) }
        }
    }

    /// Starts waiting checks on free threads.
    private func begin() {
        while true {
            let (next, count) = self.queues.withLockedValue { queues in (queues.next(now: .now), queues.count) }
            self.waiting.record(count)
            for answer in next.turnedAway { answer(.failure(SignInQueues.TurnedAway())) }
            guard let work = next.work else { return }
            self.queue.async { self.check(work) }
        }
    }

    private func check(_ work: SignInQueues.Work) {
        let result = Result { try self.compute(work) }
        // A failed computation is not a wrong password.
        let isRight = (try? result.get()) ?? true
        let answers = self.queues.withLockedValue { $0.end(work.key, isRight: isRight, now: .now) }
        for answer in answers { answer(result) }
        self.begin()
    }

    private func compute(_ work: SignInQueues.Work) throws -> Bool {
        // It may have been found right after this request had looked.
        if self.memory.recall(work.key.pair) { return true }
        self.computed.withLockedValue { $0 += 1 }
        let hash = work.stored.flatMap(PasswordHash.init)
        let matches = try (hash ?? PasswordHash(self.decoy))?.matches(work.password) ?? false
        guard hash != nil, matches else { return false }
        self.memory.remember(work.key.pair)
        return true
    }
}
