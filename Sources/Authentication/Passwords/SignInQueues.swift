import PushModel

/// A weighted fair queue of password checks: decides which runs next, and which is rejected.
///
/// The queues rank checks by the recent failures of the account's name and of the client, counted separately; the worse
/// rank counts. Unknown names are ranked like known ones, because a difference in time would reveal which exist. A
/// check in progress counts as a failure until it ends, so an unknown client has only one entry in the best queue.
///
/// Within a queue the client with fewer failures comes first: the owner of a guessed name precedes the guessers.
package struct SignInQueues: Sendable {
    /// Hands the outcome to a request that waits.
    typealias Answer = @Sendable (Result<Bool, any Error>) -> Void

    /// The check was rejected: the queue is full, and others go first.
    package struct TurnedAway: Error {}

    /// The identity of a check: equal requests share one.
    struct Key: Hashable, Sendable {
        let app: AppID
        let name: ExactText
        let pair: PasswordMemory.Pair
    }

    /// The rank among those that wait: the least is the best.
    private struct Rank: Comparable {
        let queue: Int
        /// Failures of the client and its checks under way.
        let client: Double
        let number: UInt64

        static func < (lhs: Rank, rhs: Rank) -> Bool {
            (lhs.queue, lhs.client, lhs.number) < (rhs.queue, rhs.client, rhs.number)
        }
    }

    private struct Check {
        /// Of app and name.
        let account: Int
        /// The first is the one that it was begun for.
        var clients: [IPAddress]
        var rank: Rank
        let entered: ContinuousClock.Instant
        var answers: [Answer]
        let work: Work
    }

    /// A check to run.
    struct Work: Sendable {
        let key: Key
        let password: String
        /// The account's hash, or nil when there is no account that may sign in.
        let stored: String?
    }

    /// The failures from which on a queue is closed to a check; the last is open to all.
    private static let limits: [Double] = [RecentFailures<Int>.least, 4, 16, .infinity]
    /// The costs of a check by queue: with all queues busy, the first gets 8 of 15 checks, the others 4, 2 and 1.
    private static let costs = [1, 2, 4, 8]
    /// Requests that wait for one check.
    static let maximumShared = 16

    /// Checks at a time.
    private let threads: Int
    /// Requests that may wait; beyond it the worst are turned away.
    let capacity: Int
    /// How long a check may wait: less than a process that drains has.
    private let timeout: Duration

    private var waiting: [Key: Check] = [:]
    private var running: [Key: Check] = [:]
    private var accounts = RecentFailures<Int>()
    private var clients = RecentFailures<IPAddress>()
    private var entered: UInt64 = 0
    /// Up to where each queue has been served, in costs, and where the queue stood that was served last (weighted fair queueing).
    private var served = [0, 0, 0, 0]
    private var time = 0

    init(threads: Int, capacity: Int, timeout: Duration = .seconds(20)) {
        self.threads = threads
        self.capacity = capacity
        self.timeout = timeout
    }

    /// How many checks wait.
    var count: Int { self.waiting.count }

    /// How many accounts' names and clients have failures in mind.
    var failing: (accounts: Int, clients: Int) { (self.accounts.keys, self.clients.keys) }

    /// Lets a check wait for its turn; it joins a check of the same key.
    ///
    /// - Parameters:
    ///   - work: The check.
    ///   - client: The client.
    ///   - now: The current time.
    ///   - answer: Called by the code that receives it from here or from ``end(_:isRight:now:)``.
    /// - Returns: The requests rejected in its favour, or this request itself.
    mutating func enter(
        _ work: Work,
        client: IPAddress,
        now: ContinuousClock.Instant,
        answer: @escaping Answer
    ) -> [Answer] {
        let account = Self.account(work.key)
        let rank = self.rank(work.key, account: account, client: client, now: now)
        if self.running[work.key] != nil { return Self.join(&self.running[work.key], rank, client, answer) }
        var turnedAway: [Answer] = []
        if self.waiting.values.reduce(0, { $0 + $1.answers.count }) >= self.capacity {
            let others = self.waiting.lazy.filter { $0.key != work.key }
            guard let worst = others.max(by: { $0.value.rank < $1.value.rank }), rank < worst.value.rank else {
                return [answer]
            }
            turnedAway = worst.value.answers
            self.waiting[worst.key] = nil
        }
        if self.waiting[work.key] != nil {
            return turnedAway + Self.join(&self.waiting[work.key], rank, client, answer)
        }
        self.waiting[work.key] = Check(
            account: account,
            clients: [client],
            rank: rank,
            entered: now,
            answers: [answer],
            work: work
        )
        return turnedAway
    }

    /// - Returns: The check to run now, nil if none waits or no thread is free; and the requests that waited too long.
    mutating func next(now: ContinuousClock.Instant) -> (work: Work?, turnedAway: [Answer]) {
        guard self.running.count < self.threads else { return (nil, []) }
        var turnedAway: [Answer] = []
        for (key, check) in self.waiting where now - check.entered > self.timeout {
            turnedAway += check.answers
            self.waiting[key] = nil
        }
        guard let queue = self.takeTurn() else { return (nil, turnedAway) }
        let first = self.waiting.filter { $0.value.rank.queue == queue }.min { $0.value.rank < $1.value.rank }
        guard let (key, check) = first else { return (nil, turnedAway) }
        self.waiting[key] = nil
        self.running[key] = check
        return (check.work, turnedAway)
    }

    /// Records the result of a check.
    ///
    /// - Returns: The requests that wait for it.
    mutating func end(_ key: Key, isRight: Bool, now: ContinuousClock.Instant) -> [Answer] {
        guard let check = self.running.removeValue(forKey: key) else { return [] }
        if !isRight {
            self.accounts.add(check.account, now: now)
            for client in check.clients { self.clients.add(client, now: now) }
        }
        return check.answers
    }

    private static func join(
        _ check: inout Check?,
        _ rank: Rank,
        _ client: IPAddress,
        _ answer: @escaping Answer
    ) -> [Answer] {
        guard var joined = check, joined.answers.count < Self.maximumShared else { return [answer] }
        joined.answers.append(answer)
        if !joined.clients.contains(client) { joined.clients.append(client) }
        // The owner of the password may repeat the request from a client of better rank.
        joined.rank = min(joined.rank, rank)
        check = joined
        return []
    }

    private mutating func rank(_ key: Key, account: Int, client: IPAddress, now: ContinuousClock.Instant) -> Rank {
        var ofAccount = self.accounts.count(account, now: now)
        var ofClient = self.clients.count(client, now: now)
        for checks in [self.waiting, self.running] {
            for (other, check) in checks where other != key {
                if check.account == account { ofAccount += 1 }
                if check.clients[0] == client { ofClient += 1 }
            }
        }
        self.entered += 1
        let worse = max(ofAccount, ofClient)
        let queue = Self.limits.firstIndex { worse < $0 } ?? Self.limits.count - 1
        return Rank(queue: queue, client: ofClient, number: self.entered)
    }

    /// The next queue in turn with a waiting check.
    private mutating func takeTurn() -> Int? {
        let queues = Set(self.waiting.values.map(\.rank.queue))
        let ends = queues.map { (end: self.served[$0] + Self.costs[$0], queue: $0) }
        guard let queue = ends.min(by: { ($0.end, $0.queue) < ($1.end, $1.queue) })?.queue else { return nil }
        self.time = max(self.time, self.served[queue])
        self.served[queue] += Self.costs[queue]
        // An empty queue saves up no credit.
        for other in Self.costs.indices where !queues.contains(other) {
            self.served[other] = max(self.served[other], self.time)
        }
        return queue
    }

    /// A number for app and name, as hard to make twice as any of `Hasher`: a name as such may be kilobytes long.
    private static func account(_ key: Key) -> Int {
        var hasher = Hasher()
        hasher.combine(key.app)
        hasher.combine(key.name)
        return hasher.finalize()
    }
}
