public import PushModel

/// Queues and exchanges, as data.
public struct Topology: Sendable, Equatable {
    public var exchanges: [Exchange]
    public var queues: [Queue]

    public init(exchanges: [Exchange] = [], queues: [Queue] = []) {
        self.exchanges = exchanges
        self.queues = queues
    }

    /// A durable direct exchange.
    public struct Exchange: Sendable, Equatable {
        public var name: String

        public init(name: String) { self.name = name }
    }

    /// A queue and its binding.
    public struct Queue: Sendable, Equatable {
        /// How long a queue lives and how safe it is.
        public enum Kind: Sendable, Equatable {
            /// Durable and fsynced (`x-queue-type: quorum`); dead letters go at-least-once to that queue (rule 7).
            case quorum(deadLetterQueue: String?, deliveryLimit: Int?)
            /// Lives and dies with its connection; for hints.
            case exclusive
        }

        public var name: String
        public var kind: Kind
        /// An exchange to bind to, under the queue's own name as routing key; nil = the default exchange alone.
        public var exchange: String?

        public init(name: String, kind: Kind, exchange: String? = nil) {
            self.name = name
            self.kind = kind
            self.exchange = exchange
        }
    }
}

/// The names of Pushline's queues. A queue whose arguments change gets a new name (rule 7).
public enum QueueName {
    /// Where messages end that nobody could work on.
    public static let dead = "pushline.dead"
    /// The exchange of events: "look at that job".
    public static let events = "pushline.events"

    public static func jobs(_ kind: JobKind, _ priority: Priority) -> String {
        "pushline.\(kind.rawValue).\(priority.rawValue)"
    }

    public static func deliver(_ pns: PNS, _ priority: Priority) -> String {
        "pushline.deliver.\(pns.rawValue).\(priority.rawValue)"
    }
}

extension Topology {
    /// Everything that the pipeline needs, the target of dead letters first.
    public static let pushline: Topology = {
        var queues = [Queue(name: QueueName.dead, kind: .quorum(deadLetterQueue: nil, deliveryLimit: nil))]
        // The broker's limit is a last resort: it condemns the innocents of a prefetch window (rule 5).
        let work = Queue.Kind.quorum(deadLetterQueue: QueueName.dead, deliveryLimit: 1000)
        for priority in Priority.allCases {
            for kind in JobKind.allCases {
                queues.append(Queue(name: QueueName.jobs(kind, priority), kind: work))
            }
            for pns in PNS.allCases where pns.isInService {
                queues.append(Queue(name: QueueName.deliver(pns, priority), kind: work))
            }
        }
        return Topology(exchanges: [Exchange(name: QueueName.events)], queues: queues)
    }()
}
