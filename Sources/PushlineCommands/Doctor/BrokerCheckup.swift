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
                return [self.wrong("lacks \(queues) \(missing[0]): the next program that starts makes what is missing")]
            }
            // The broker reports an alarm only to publishers. This message goes to no queue.
            let hint = OutgoingMessage(eventFor: .make(), waiter: "pushline.doctor")
            let result = await self.broker.publish([hint], deadline: Checkup.timeout)
            if case .blocked(let reason) = await self.broker.status {
                return [self.wrong("accepts no messages: \(reason); free its memory or disk (rabbitmqctl status)")]
            }
            if case .failed(let error) = result.first {
                return [self.wrong("does not take a message: \(error.message); look at its log")]
            }
            // All are there, so this makes none: it finds one that was made with other arguments.
            try await self.broker.declare(.pushline)
            return [.right("broker", "\(self.place): connected, all queues are there")] + (try await self.workers())
                + (try await self.parked())
        } catch let error as BrokerError where error.code == .mismatch {
            return [
                self.wrong("\(error.message); remove that queue, or give this installation a virtual host of its own")
            ]
        } catch {
            let message = (error as? BrokerError)?.message ?? "\(error)"
            let reason = message.hasSuffix(".") ? String(message.dropLast()) : message
            // This reason contains the remedy.
            guard !reason.contains("frame_max") else { return [self.wrong(reason)] }
            let advice =
                reason.contains("logging in")
                ? "check user, password and virtual host in broker.url or PUSHLINE_BROKER_URL"
                : "start RabbitMQ, or set broker.url or PUSHLINE_BROKER_URL"
            return [self.wrong("\(reason); \(advice)")]
        }
    }

    private func wrong(_ words: String) -> Finding { .wrong("broker", "\(self.place): \(words)") }

    /// The queues that nobody has made yet; looking makes none.
    private func missing() async throws -> [String] {
        var missing: [String] = []
        for queue in Topology.pushline.queues {
            do { _ = try await self.broker.depth(of: queue.name) } catch let error as BrokerError
                where error.code == .protocolFault
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
