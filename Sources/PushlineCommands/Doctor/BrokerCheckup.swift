import Broker
import PushModel

/// Looks at a broker, and makes nothing there: whether it takes messages, and whether somebody takes them from its queues.
struct BrokerCheckup {
    let broker: any MessageBroker
    /// Where it is, without a password.
    let place: String
    /// The push services that some app declares.
    let services: Set<PushService>

    func run() async -> [Finding] {
        do {
            // Waits for the first attempt to connect, which has its own limit.
            let missing = try await self.missing()
            guard missing.isEmpty else {
                let queues = missing.count == 1 ? "a queue" : "\(missing.count) queues, such as"
                return [
                    self.wrong(
                        "lacks \(queues) \(missing[0]): the programs make them when they start; if some run, their log says why "
                            + "they cannot"
                    )
                ]
            }
            // The broker reports an alarm only to publishers. This message goes to no queue.
            let hint = OutgoingMessage(eventFor: .make(), waiter: "pushline.doctor")
            let result = await self.broker.publish([hint], deadline: Checkup.timeout)
            if case .blocked(let reason) = await self.broker.status {
                return [self.wrong("accepts no messages: \(reason); free its memory or disk (rabbitmqctl status)")]
            }
            if case .failed(let error) = result.first {
                return [self.fault(error, "does not take a message: ")]
            }
            // All are there, so this makes none: it finds one that was made with other arguments.
            try await self.broker.declare(.pushline)
            return [.right("broker", "\(self.place): connected, all queues are there")] + (try await self.workers())
                + (try await self.parked())
        } catch let error as BrokerError {
            return [self.fault(error)]
        } catch {
            return [self.wrong("\(error)")]
        }
    }

    /// What is wrong and why, in the broker's words, and what to do about it.
    private func fault(_ error: BrokerError, _ what: String = "") -> Finding {
        // RabbitMQ's own words may end with a full stop, too.
        let reason = String(error.message.reversed().drop { $0 == "." }.reversed())
        // This reason contains the remedy.
        guard !reason.contains("frame_max") else { return self.wrong(reason) }
        return self.wrong("\(what)\(reason); \(Self.advice(on: error.code))")
    }

    private static func advice(on code: BrokerError.Code) -> String {
        let setting = "broker.url or PUSHLINE_BROKER_URL"
        let permission = "rabbitmqctl set_permissions -p VHOST USER '.*' '.*' '.*'"
        return switch code {
        case .unreachable, .timeout: "start RabbitMQ, or correct scheme, host and port in \(setting)"
        case .untrusted:
            "its certificate must bear the host's name and come from an authority in broker.ca_file, and the port be one for "
                + "TLS (5671)"
        case .loginRefused:
            "correct user and password in \(setting), or make them: rabbitmqctl add_user, change_password; guest may "
                + "log in on RabbitMQ's own host alone"
        case .noVirtualHost:
            "correct the end of \(setting), or make it: rabbitmqctl add_vhost VHOST, then \(permission)"
        case .notPermitted: "allow it: \(permission)"
        case .mismatch: "remove that queue, or give this installation a virtual host of its own"
        case .notFound: "the programs make it when they start"
        default: "RabbitMQ's log may say why"
        }
    }

    private func wrong(_ words: String) -> Finding { .wrong("broker", "\(self.place): \(words)") }

    /// The queues that nobody has made yet; looking makes none.
    private func missing() async throws -> [String] {
        var missing: [String] = []
        for queue in Topology.pushline.queues {
            do { _ = try await self.broker.depth(of: queue.name) } catch let error as BrokerError
                where error.code == .notFound
            { missing.append(queue.name) }
        }
        return missing
    }

    /// Messages that crashed the readers of the dead queue, and wait for somebody to inspect them.
    private func parked() async throws -> [Finding] {
        let count = try await self.broker.depth(of: QueueName.parking).ready
        guard count > 0 else { return [] }
        let messages = count == 1 ? "a message is parked, because it" : "\(count) messages are parked, because they"
        return [
            .wrong(
                "parked messages",
                "\(messages) crashed the processes that read the dead queue: inspect \(QueueName.parking) with RabbitMQ's tools, "
                    + "then rabbitmqctl -p VHOST purge_queue \(QueueName.parking)"
            )
        ]
    }

    /// A worker consumes from all its queues, of every priority.
    private func workers() async throws -> [Finding] {
        var findings: [Finding] = []
        for (program, queues) in [
            ("pushline-register-worker", [QueueName.work(.register, .normal)]),
            ("pushline-send-worker", [QueueName.work(.send, .normal)]),
            ("pushline-delivery-worker", self.services.sorted().map { QueueName.work(.deliver($0), .normal) }),
        ] {
            var idle: [String] = []
            for queue in queues where try await self.broker.depth(of: queue).consumers == 0 { idle.append(queue) }
            if !idle.isEmpty {
                findings.append(
                    .wrong("workers", "no consumer on \(idle.joined(separator: ", ")): start \(program)")
                )
            } else if !queues.isEmpty {
                findings.append(.right("workers", "\(program) consumes from \(queues.joined(separator: ", "))"))
            }
        }
        return findings
    }
}
