import Broker
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// Dead letters that are brought back (rule 6).
    @Suite(.serialized, .timeLimit(.minutes(2)), .undisturbed) struct DeadLetterTests {
        private static let queue = QueueName.work(.deliver(.apns), .normal)

        /// Has the job's only delivery message be one that no worker understands whenever it comes, and waits until it is kept.
        private static func killDelivery(in harness: PipelineHarness) async throws -> DeadLetter {
            // The message is lost, as with a broker's folder; another of its name is garbage.
            let delivery = try await harness.broker.consume(queue: Self.queue, prefetch: 1) { subscription in
                let delivery = try #require(try await subscription.next())
                await subscription.acknowledge([delivery])
                return delivery
            }
            let id = try #require(MessageID(delivery.properties.messageID))
            for _ in 0..<Redeliveries.limit { _ = try await harness.store.redelivered(id) }
            let garbage = OutgoingMessage(routingKey: Self.queue, properties: delivery.properties, body: [1, 2, 3])
            #expect(await harness.broker.publish([garbage], deadline: .seconds(1)) == [.published])
            let (worker, senders) = harness.deliveryWorker()
            let work = Task { try await worker.run() }
            let letter = try await Self.letter(of: delivery.properties.messageID, in: harness)
            work.cancel()
            _ = await work.result
            await senders.close()
            return letter
        }

        private static func letter(of message: String, in harness: PipelineHarness) async throws -> DeadLetter {
            while true {
                let letters = try await harness.store.deadLetters(DeadLetterQuery(app: .default, limit: 10)).items
                if let letter = letters.first(where: { $0.messageID == message }) { return letter }
                try await Task.sleep(for: .milliseconds(10))
            }
        }

        @Test func aReplayedDeliveryIsSent() async throws {
            try await PipelineHarness.with([.send, .sweeper, .dead]) { harness in
                try await harness.register("ann", devices: 1...30)
                let id = try await harness.send(to: "username:ann")
                try await harness.wait(for: id) { $0.isAnswered }
                let letter = try await Self.killDelivery(in: harness)
                let dead = try await harness.wait(for: id)
                #expect(dead.counts[.apns]?.failed == [.dead: 30])
                expectSound(dead)
                #expect(harness.simulator.received().isEmpty)
                // As from two processes; nobody publishes what came of it but the sweeper.
                async let first = harness.store.replay(deadLetter: letter.id, app: .default)
                async let second = harness.store.replay(deadLetter: letter.id, app: .default)
                let replays = try await [first, second].compactMap { $0 }
                #expect(replays == [.begun(job: id, devices: 30)])
                let (worker, senders) = harness.deliveryWorker()
                let work = Task { try await worker.run() }
                let done = try await harness.wait(for: id)
                work.cancel()
                _ = await work.result
                await senders.close()
                #expect(done.counts[.apns]?.accepted == 30)
                #expect(done.counts[.apns]?.targets == 30)
                expectSound(done)
                #expect(harness.simulator.received().count == 30)
                #expect(try await harness.store.audit(after: 0, limit: 100).faults == [])
            }
        }

        @Test func replayedSendsAndRegistrationsAreProcessed() async throws {
            try await PipelineHarness.with { harness in
                try await harness.register("ann", .apns, token(1))
                let send = try await harness.send(to: "username:ann", isPublished: false)
                let request = RegisterRequest.issue(candidate: .random(), handles: [])
                let register = try await harness.accept(.register(request), user: try UserName("ann", .folded))
                for (id, type) in [(send, "send"), (register.id, "register")] {
                    let message = try harness.message(of: id).id
                    try await harness.store.deadLetter(
                        IncomingDeadLetter(
                            queue: "q",
                            type: type,
                            messageID: "\(message)",
                            app: nil,
                            reason: "r",
                            body: []
                        )
                    )
                }
                for letter in try await harness.store.deadLetters(DeadLetterQuery(app: .default, limit: 10)).items {
                    _ = try await harness.store.replay(deadLetter: letter.id, app: .default)
                }
                let sent = try await harness.wait(for: send)
                #expect(sent.state == .completed)
                #expect(sent.counts[.apns]?.accepted == 1)
                #expect(try await harness.wait(for: register.id).state == .completed)
                #expect(try await harness.store.audit(after: 0, limit: 100).faults == [])
            }
        }
    }
}
