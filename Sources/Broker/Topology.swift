package import PushModel

/// Queues and exchanges, as data.
package struct Topology: Sendable, Equatable {
    package var exchanges: [Exchange]
    package var queues: [Queue]

    package init(exchanges: [Exchange] = [], queues: [Queue] = []) {
        self.exchanges = exchanges
        self.queues = queues
    }

    /// A durable direct exchange.
    package struct Exchange: Sendable, Equatable {
        package var name: String

        package init(name: String) { self.name = name }
    }

    /// A queue and its binding.
    package struct Queue: Sendable, Equatable {
        /// How long a queue lives and how safe it is.
        package enum Kind: Sendable, Equatable {
            /// Durable and fsynced (`x-queue-type: quorum`); dead letters go at-least-once to that queue (rule 7).
            case quorum(deadLetterQueue: String?, deliveryLimit: Int?)
            /// Lives and dies with its connection; for hints.
            case exclusive
        }

        package var name: String
        package var kind: Kind
        /// An exchange to bind to; nil = only the default exchange.
        package var exchange: String?
        /// The routing key that it is bound under.
        package var key: String

        /// - Parameters:
        ///   - name: The name.
        ///   - kind: How long it lives.
        ///   - exchange: An exchange to bind to; nil = only the default exchange.
        ///   - key: Under which routing key; nil = the queue's own name.
        package init(name: String, kind: Kind, exchange: String? = nil, key: String? = nil) {
            self.name = name
            self.kind = kind
            self.exchange = exchange
            self.key = key ?? name
        }
    }
}

/// The names of Pushline's queues.
///
/// A queue whose arguments change gets a new name (rule 7): those of the second version end in `.v2`.
package enum QueueName {
    /// The queue of failed messages until they are in the store.
    package static let dead = "pushline.dead.v2"
    /// The broker moves messages here that crash the consumer of ``dead``; nothing consumes from it.
    package static let parking = "pushline.parking"
    /// The exchange of events: "look at that job", and reports of processes.
    package static let events = "pushline.events"
    /// The routing key of reports, which every process of the API hears.
    package static let reports = "processes"

    /// The queue of one kind of work at a priority.
    package static func work(_ queue: WorkQueue, _ priority: Priority) -> String {
        "pushline.\(queue).\(priority.rawValue).v2"
    }

    /// A name that no queue has, for the events of one process of the API.
    package static func newEventQueue() -> String { "pushline.api.\(JobID.make())" }
}

extension Topology {
    /// What a process needs that waits for events, under the name of its queue as routing key (rule 16).
    package static func events(to queue: String) -> Topology {
        Topology(
            exchanges: [Exchange(name: QueueName.events)],
            queues: [Queue(name: queue, kind: .exclusive, exchange: QueueName.events)]
        )
    }

    /// What a process needs that shows how all are (``ProcessReport``).
    package static func reports(to queue: String) -> Topology {
        Topology(
            exchanges: Topology.reportsAlone.exchanges,
            queues: [Queue(name: queue, kind: .exclusive, exchange: QueueName.events, key: QueueName.reports)]
        )
    }

    /// What a process needs that only says how it is.
    package static let reportsAlone = Topology(exchanges: [Exchange(name: QueueName.events)])

    /// Everything that the pipeline needs, the target of dead letters first.
    package static let pushline: Topology = {
        var queues = [
            Queue(name: QueueName.parking, kind: .quorum(deadLetterQueue: nil, deliveryLimit: nil)),
            // A message that crashes its consumer must not be redelivered for ever.
            Queue(name: QueueName.dead, kind: .quorum(deadLetterQueue: QueueName.parking, deliveryLimit: 20)),
        ]
        // The broker's limit is a last resort: it condemns the innocents of a prefetch window (rule 5).
        let work = Queue.Kind.quorum(deadLetterQueue: QueueName.dead, deliveryLimit: 1000)
        for priority in Priority.allCases {
            for queue in WorkQueue.allCases {
                queues.append(Queue(name: QueueName.work(queue, priority), kind: work))
            }
        }
        return Topology(exchanges: [Exchange(name: QueueName.events)], queues: queues)
    }()
}
