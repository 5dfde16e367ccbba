import Broker
import DequeModule

/// A channel for publishing, and what is under way on it: the messages of all queues, or those of one that has refused some.
struct PublishingLane {
    /// A message of a request.
    struct Item {
        let request: PublishRequest
        let index: Int

        var message: OutgoingMessage { self.request.messages[self.index] }
    }

    /// A message under way.
    struct Pending {
        let item: Item
        let sent = ContinuousClock.now
        var isReturned = false
    }

    /// Whose messages; nil = those of every queue that has no lane of its own.
    let queue: String?
    /// nil while there is none: it rests.
    private(set) var channel: UInt16?
    /// The number of its last channel.
    private(set) var previous: UInt16?
    /// When a channel may be opened.
    private(set) var restsUntil = ContinuousClock.now
    /// The broker has refused a message: nothing more is sent on this channel, which is closed as soon as none is half sent.
    private(set) var isCondemned = false
    var waiting = Deque<Item>()
    var window = ConfirmWindow<Pending>()
    /// Octets of a returned message that are still to come, and whether its header did.
    var returning: (hasHeader: Bool, rest: UInt64)?
    private var accepted = 0
    private var pause: Backoff

    init(queue: String?, pause: ClosedRange<Duration>) {
        self.queue = queue
        self.pause = Backoff(pause)
    }

    /// Whether nothing is sent, and there is no channel.
    var isResting: Bool { self.channel == nil }

    /// Whether the channel takes another message.
    ///
    /// A queue that has refused is asked with one message, then with twice as many each time: what it refuses costs as much as
    /// what it takes.
    func hasRoom(_ windowSize: Int) -> Bool {
        guard self.channel != nil, !self.isCondemned else { return false }
        return self.window.count < (self.queue == nil ? windowSize : min(windowSize, 1 + self.accepted))
    }

    mutating func opened(_ channel: UInt16) {
        self.channel = channel
        self.isCondemned = false
        self.returning = nil
        self.accepted = 0
    }

    mutating func condemn() {
        self.isCondemned = true
    }

    /// The channel has accepted a message.
    ///
    /// - Returns: Whether it is the first.
    mutating func noteAccepted() -> Bool {
        self.accepted += 1
        guard self.accepted == 1 else { return false }
        self.pause.reset()
        return true
    }

    /// Rests, for longer each time until a channel has accepted a message.
    mutating func rest() {
        self.previous = self.channel
        self.channel = nil
        self.isCondemned = false
        self.returning = nil
        self.restsUntil = .now + self.pause.next()
    }
}

/// Which queues have refused messages, and for how long they have.
struct QueueRefusals {
    /// A queue that has refused nothing for so long begins anew.
    static let memory = Duration.seconds(60)
    /// The shortest and the longest time after which a message that was refused should be tried again.
    static let retry = Duration.seconds(1)...Duration.seconds(30)

    private struct Entry {
        var first: ContinuousClock.Instant
        var last: ContinuousClock.Instant
        /// The channel that it was on, counted over all.
        var channel: UInt64
    }

    private var entries: [String: Entry] = [:]

    /// Notes a refusal.
    ///
    /// - Parameters:
    ///   - queue: The queue that refused a message.
    ///   - channel: The number of the channel, counted over all connections.
    ///   - now: The time.
    /// - Returns: Whether it has refused one on an earlier channel too, a short while ago: then the channel is not the cause.
    mutating func note(_ queue: String, channel: UInt64, now: ContinuousClock.Instant = .now) -> Bool {
        guard var entry = self.entries[queue], now - entry.last < Self.memory else {
            self.entries[queue] = Entry(first: now, last: now, channel: channel)
            return false
        }
        let isAgain = entry.channel != channel
        entry.last = now
        entry.channel = channel
        self.entries[queue] = entry
        return isAgain
    }

    /// When to try a message of the queue again: the later, the longer it has refused them.
    func retry(_ queue: String, now: ContinuousClock.Instant = .now) -> Duration {
        guard let entry = self.entries[queue] else { return Self.retry.lowerBound }
        return min(Self.retry.upperBound, max(Self.retry.lowerBound, now - entry.first))
    }
}

extension OutgoingMessage {
    /// The queue that it is for, as far as the publisher knows.
    var destination: String { self.exchange.isEmpty ? self.routingKey : "\(self.exchange)/\(self.routingKey)" }
}
