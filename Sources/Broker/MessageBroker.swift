/// What carries messages between the processes: RabbitMQ, or memory for tests.
///
/// The contract, which `Tests/BrokerContract` holds every driver to:
/// - A message that ``publish(_:deadline:)`` reports as published is on durable storage in at least one queue, and stays there
///   until it is acknowledged. Everything else (returned, refused, no confirm in time, no connection) is reported as a
///   failure of that message; it may still arrive, so consumers bear repeats.
/// - A delivery that was not acknowledged when its consumer ended comes again, to this or another consumer.
/// - Connections come back by themselves. Nothing waits longer than its deadline, also while the broker accepts nothing.
public protocol MessageBroker: Sendable {
    /// Declares queues and exchanges; doing it again changes nothing.
    ///
    /// - Throws: ``BrokerError`` with ``BrokerError/Code/mismatch`` when something of that name exists with other arguments.
    func declare(_ topology: Topology) async throws

    /// Publishes messages, persistent and mandatory, and waits for the broker's confirms.
    ///
    /// - Returns: One result a message, in their order. A fault of the connection is a failure of each message.
    func publish(_ messages: [OutgoingMessage], deadline: Duration) async -> [PublishResult]

    /// Takes messages from a queue until `body` returns or throws, or the task is cancelled or drained.
    ///
    /// - Parameters:
    ///   - queue: A queue that was declared.
    ///   - prefetch: The most deliveries that are handed out and not acknowledged.
    ///   - body: Reads the subscription. When it ends, deliveries it has not acknowledged go back to the queue.
    func consume<Result: Sendable>(
        queue: String,
        prefetch: Int,
        _ body: @Sendable (any Subscription) async throws -> Result
    ) async throws -> Result

    /// Whether the broker can be reached and accepts messages, for `/readyz`.
    var status: BrokerStatus { get async }
}

/// A consumer of one queue. It survives lost connections: deliveries of a lost connection come again.
public protocol Subscription: Sendable {
    /// The next delivery, or nil when the subscription was stopped.
    ///
    /// Waits while the connection is away.
    func next() async throws -> Delivery?

    /// Tells the broker that these deliveries are done with; grouped into few frames.
    ///
    /// Returns when the acknowledgement was handed to the connection. For a delivery of a connection that is gone nothing is
    /// done: it comes again.
    func acknowledge(_ deliveries: [Delivery]) async

    /// Takes no more messages: ``next()`` hands out what is already here and not yet handed out is given back to the queue,
    /// then returns nil. Acknowledging goes on working.
    func stop() async
}

/// A message on its way to the broker.
public struct OutgoingMessage: Sendable, Equatable {
    /// Empty = the default exchange, where the routing key is a queue's name.
    public var exchange: String
    public var routingKey: String
    public var properties: MessageProperties
    public var body: [UInt8]
    /// False for hints that may be lost (events): neither stored to disk nor required to reach a queue.
    public var isPersistent: Bool

    public init(
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

/// What travels beside a body.
public struct MessageProperties: Sendable, Equatable {
    /// `register`, `send` or `deliver`.
    public var type: String
    /// The job's id, or a batch's key.
    public var messageID: String
    public var contentType: String
    /// Further headers with text values, such as `app` and `traceparent`.
    public var headers: [String: String]

    public init(type: String, messageID: String, contentType: String, headers: [String: String] = [:]) {
        self.type = type
        self.messageID = messageID
        self.contentType = contentType
        self.headers = headers
    }
}

/// A message that came from a queue.
public struct Delivery: Sendable {
    /// Names the delivery on its connection; meaningless to any other.
    public let tag: UInt64
    /// The connection's number: acknowledging over a later one is left out.
    public let generation: UInt64
    public let properties: MessageProperties
    public let body: [UInt8]
    /// How often it was delivered before without being acknowledged (`x-delivery-count`), or 1 where the broker only says
    /// that it was.
    public let deliveryCount: Int
    /// Where it came from, when it was dead-lettered (`x-first-death-queue`).
    public let firstDeathQueue: String?

    public init(
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

/// What became of one published message.
public enum PublishResult: Sendable, Equatable {
    case published
    case failed(BrokerError)

    public var isPublished: Bool { self == .published }
}

/// How the connection to the broker stands.
public enum BrokerStatus: Sendable, Equatable {
    case connected
    /// The broker has an alarm and accepts no messages; its reason.
    case blocked(String)
    /// Not reached since; why.
    case disconnected(String)
}

/// What went wrong at the broker.
public struct BrokerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of fault.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unreachable, timeout, blocked, returned, refused, mismatch, closed, protocolFault }
        private let base: Base

        /// No connection to the broker.
        public static let unreachable = Code(base: .unreachable)
        /// No answer in time.
        public static let timeout = Code(base: .timeout)
        /// The broker has an alarm.
        public static let blocked = Code(base: .blocked)
        /// No queue is bound for the message.
        public static let returned = Code(base: .returned)
        /// The broker did not take the message (nack).
        public static let refused = Code(base: .refused)
        /// A queue or exchange exists with other arguments.
        public static let mismatch = Code(base: .mismatch)
        /// The broker object was shut down.
        public static let closed = Code(base: .closed)
        /// The broker said something that AMQP does not allow here, or refused an operation.
        public static let protocolFault = Code(base: .protocolFault)

        public var description: String { self.base.rawValue }
    }

    public let code: Code
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(self.message) (\(self.code))" }
}
