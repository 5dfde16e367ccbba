/// The transport of messages between processes: RabbitMQ, or memory for tests.
///
/// The contract, which `Tests/BrokerContract` verifies for every driver:
/// - A message that ``publish(_:deadline:)`` reports as published is on durable storage in at least one queue, and stays there
///   until it is acknowledged. Everything else (returned, refused, no confirm in time, no connection) is reported as a
///   failure of that message; it may still arrive, so consumers must tolerate repeats.
/// - A queue that refuses messages holds up no other: what is for it fails with ``BrokerError/Code/refused``, and says when to
///   try again.
/// - A delivery that was not acknowledged when its consumer ended comes again, to this or another consumer.
/// - Connections are restored automatically. No call waits longer than its deadline, even while the broker accepts
///   nothing.
package protocol MessageBroker: Sendable {
    /// Declares queues and exchanges; doing it again changes nothing.
    ///
    /// - Throws: ``BrokerError`` with ``BrokerError/Code/mismatch`` when that name is taken with other arguments.
    func declare(_ topology: Topology) async throws

    /// Publishes messages, persistent and mandatory, and waits for the broker's confirms.
    ///
    /// - Returns: One result a message, in their order. A fault of the connection is a failure of each message.
    func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult]

    /// Takes messages from a queue until `body` returns or throws.
    ///
    /// A graceful shutdown of the task stops the subscription: ``Subscription/next()`` returns nil, and `body` can finish and
    /// acknowledge what it has. A cancelled task's `next()` throws.
    ///
    /// - Parameters:
    ///   - queue: A queue that was declared.
    ///   - prefetch: The most deliveries that are handed out and not acknowledged.
    ///   - body: Reads the subscription. When it ends, deliveries it has not acknowledged go back to the queue.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`; ``BrokerError`` when there is no such queue.
    func consume<Result: Sendable>(
        queue: String,
        prefetch: Int,
        _ body: @Sendable (any Subscription) async throws -> Result
    ) async throws -> Result

    /// How much is in a queue, as the broker knows it; for people, for it is old when it is read.
    ///
    /// - Throws: ``BrokerError``, with ``BrokerError/Code/notFound`` when there is no such queue.
    func depth(of queue: String) async throws -> QueueDepth

    /// Whether the broker can be reached and accepts messages, for `/readyz`.
    var status: BrokerStatus { get async }
}

/// How much is in a queue.
package struct QueueDepth: Sendable, Equatable {
    /// Messages waiting for a consumer.
    package let ready: Int
    package let consumers: Int

    package init(ready: Int, consumers: Int) {
        self.ready = ready
        self.consumers = consumers
    }
}

/// A consumer of one queue.
///
/// It survives lost connections: deliveries of a lost connection come again.
package protocol Subscription: Sendable {
    /// The next delivery, or nil when the subscription was stopped.
    ///
    /// Waits while the connection is away.
    func next() async throws -> Delivery?

    /// Acknowledges deliveries, grouped into few frames.
    ///
    /// Returns when the acknowledgement was handed to the connection. A delivery of a lost connection is skipped: the
    /// broker delivers it again.
    func acknowledge(_ deliveries: [Delivery]) async

    /// Whether the delivery's connection still exists; otherwise the delivery is void, because the broker delivers it
    /// again.
    func isCurrent(_ delivery: Delivery) -> Bool

    /// Stops the subscription.
    ///
    /// ``next()`` still returns deliveries already received, then nil; undelivered ones return to the queue.
    /// Acknowledgements still work.
    func stop() async
}

/// A message on its way to the broker.
package struct OutgoingMessage: Sendable, Equatable {
    /// Empty = the default exchange, where the routing key is a queue's name.
    package var exchange: String
    package var routingKey: String
    package var properties: MessageProperties
    package var body: [UInt8]
    /// False for hints that may be lost (events): neither stored to disk nor required to reach a queue.
    package var isPersistent: Bool

    package init(
        exchange: String = "",
        routingKey: String,
        properties: MessageProperties,
        body: [UInt8],
        isPersistent: Bool = true
    ) {
        self.exchange = exchange
        self.routingKey = routingKey
        self.properties = properties
        self.body = body
        self.isPersistent = isPersistent
    }
}

/// The properties of a message, beside its body.
package struct MessageProperties: Sendable, Equatable {
    /// `register`, `send` or `deliver`.
    package var type: String
    /// The job's id, or a batch's key.
    package var messageID: String
    package var contentType: String
    /// Further headers with text values, such as `app`.
    package var headers: [String: String]

    package init(type: String, messageID: String, contentType: String, headers: [String: String] = [:]) {
        self.type = type
        self.messageID = messageID
        self.contentType = contentType
        self.headers = headers
    }
}

/// A message that came from a queue.
package struct Delivery: Sendable {
    /// Names the delivery on its connection; meaningless to any other.
    package let tag: UInt64
    /// The connection's number: acknowledging over a later one is left out.
    package let generation: UInt64
    package let properties: MessageProperties
    package let body: [UInt8]
    /// The number of earlier deliveries without an acknowledgement (`x-delivery-count`), or 1 if the broker reports
    /// only a redelivery.
    package let deliveryCount: Int
    /// Where it came from, when it was dead-lettered (`x-first-death-queue`).
    package let firstDeathQueue: String?

    package init(
        tag: UInt64,
        generation: UInt64,
        properties: MessageProperties,
        body: [UInt8],
        deliveryCount: Int,
        firstDeathQueue: String? = nil
    ) {
        self.tag = tag
        self.generation = generation
        self.properties = properties
        self.body = body
        self.deliveryCount = deliveryCount
        self.firstDeathQueue = firstDeathQueue
    }
}

/// The result of one published message.
package enum PublishResult: Sendable, Equatable {
    case published
    case failed(BrokerError)

    package var isPublished: Bool { self == .published }

    /// Why the broker has certainly not taken the message; nil if it may have.
    package var refusal: BrokerError? {
        guard case .failed(let error) = self else { return nil }
        return error.code == .returned || error.code == .refused ? error : nil
    }
}

/// How the connection to the broker stands.
package enum BrokerStatus: Sendable, Equatable {
    case connected
    /// The broker has an alarm and accepts no messages; its reason.
    case blocked(String)
    /// The connection is being made, as for a moment after a process has begun; what is to be published waits for it.
    case connecting
    /// Not reached since; why.
    case disconnected(String)

    /// In a word, as `/readyz` has it.
    package var word: String {
        switch self {
        case .connected: "connected"
        case .blocked: "blocked"
        case .connecting, .disconnected: "disconnected"
        }
    }

    /// The reason that messages cannot be published, for people; nil = none.
    package var blockedReason: String? {
        switch self {
        case .connected: nil
        case .blocked(let reason): "the broker has an alarm and takes no messages: \(Self.bare(reason))"
        case .connecting: "the connection to the broker is being made"
        case .disconnected(let reason): "the broker cannot be reached: \(Self.bare(reason))"
        }
    }

    /// A reason without its full stop, for use within a sentence.
    private static func bare(_ reason: String) -> String { reason.hasSuffix(".") ? String(reason.dropLast()) : reason }
}

/// A failure of the broker.
package struct BrokerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of fault.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case unreachable, untrusted, loginRefused, noVirtualHost, notPermitted
            case timeout, blocked, returned, refused, notFound, mismatch, closed, protocolFault
        }

        private let base: Base

        /// No connection to the broker.
        package static let unreachable = Code(base: .unreachable)
        /// No connection to the broker: TLS fails, or a certificate is not trusted.
        package static let untrusted = Code(base: .untrusted)
        /// The broker does not know the user, or not with that password.
        package static let loginRefused = Code(base: .loginRefused)
        /// The broker has no virtual host of that name.
        package static let noVirtualHost = Code(base: .noVirtualHost)
        /// The user may not use the virtual host, or not do there what was asked.
        package static let notPermitted = Code(base: .notPermitted)
        /// No answer in time.
        package static let timeout = Code(base: .timeout)
        /// The broker has an alarm.
        package static let blocked = Code(base: .blocked)
        /// No queue is bound for the message.
        package static let returned = Code(base: .returned)
        /// The broker did not take the message (nack).
        package static let refused = Code(base: .refused)
        /// There is no queue or exchange of that name.
        package static let notFound = Code(base: .notFound)
        /// A queue or exchange exists with other arguments.
        package static let mismatch = Code(base: .mismatch)
        /// The broker object was shut down.
        package static let closed = Code(base: .closed)
        /// The broker violated AMQP, or refused an operation.
        package static let protocolFault = Code(base: .protocolFault)

        package var description: String { self.base.rawValue }
    }

    package let code: Code
    package let message: String
    /// When a message that was refused should be published again, at the earliest; nil = at once.
    package let retryAfter: Duration?

    package init(_ code: Code, _ message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    package var description: String { "\(self.message) (\(self.code))" }

    /// There is no connection to it now.
    package static let noConnection = BrokerError(.unreachable, "There is no connection to the broker.")
    /// A message was not confirmed before its deadline.
    package static let notConfirmed = BrokerError(.timeout, "The broker did not confirm in time.")

    /// It did not take a message.
    package static func notTaken(retryAfter: Duration? = nil) -> BrokerError {
        BrokerError(.refused, "The broker did not take the message.", retryAfter: retryAfter)
    }
}
