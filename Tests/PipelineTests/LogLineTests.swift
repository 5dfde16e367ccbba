import Broker
import LogRecorder
import Logging
import PushModel
import PushlineLogging
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

extension PipelineLoadTests {
    /// What an operator finds who looks for the id of a job in the workers' logs.
    @Suite(.timeLimit(.minutes(2)), .undisturbed) struct LogLineTests {
        private let log = LogRecorder()

        private func lines(of job: JobID) -> [LogRecorder.Line] {
            self.log.lines.filter { $0.fields["job.id"]?.split(separator: ",").contains("\(job)") == true }
        }

        @Test func everyWorkerNamesTheJob() async throws {
            try await PipelineHarness.with(logger: self.log.logger(.debug)) { harness in
                try await harness.register("ann", devices: 1...3)
                let send = try await harness.send(to: "username:ann")
                let request = RegisterRequest.issue(candidate: .random(), handles: [])
                let register = try await harness.accept(.register(request), user: try UserName("ann", .folded))
                try await harness.publish(register)
                for id in [send, register.id] { try await harness.wait(for: id) }
                // A worker says what it did behind its commit.
                let queues: Set = [QueueName.work(.send, .normal), QueueName.work(.deliver(.apns), .normal)]
                while !self.lines(of: send).contains(where: { $0.fields["devices.accepted"] != nil })
                    || !queues.isSubset(of: self.lines(of: send).compactMap { $0.fields["queue"] })
                    || self.lines(of: register.id).isEmpty
                {
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(Set(self.lines(of: send).compactMap { $0.fields["queue"] }) == queues)
                let delivered = try #require(self.lines(of: send).last { $0.fields["devices.accepted"] != nil })
                #expect(delivered.fields["devices.accepted"] == "3" && delivered.fields["devices.failed"] == "0")
                #expect(delivered.fields["message.id"].flatMap { MessageID($0) } != nil)
                let message = try harness.message(of: register.id)
                #expect(
                    self.lines(of: register.id).map(\.fields) == [
                        [
                            "job.id": "\(register.id)", "message.id": "\(message.id)", "outcome": "issued",
                            "queue": QueueName.work(.register, .normal),
                        ]
                    ]
                )
            }
        }

        private func lines(of request: RequestID) -> [LogRecorder.Line] {
            self.log.lines.filter { $0.fields["request.id"]?.split(separator: ",").contains("\(request)") == true }
        }

        /// Whoever knows the request finds its jobs in each worker: in the first try, the next, and what is replayed.
        @Test func everyWorkerNamesTheRequest() async throws {
            let (first, second) = (try #require(RequestID("proxy-1.a")), try #require(RequestID("proxy-2.b")))
            let queues = [QueueName.work(.send, .normal), QueueName.work(.deliver(.apns), .normal)]
            try await PipelineHarness.with(logger: self.log.logger(.debug)) { harness in
                try await harness.register("ann", devices: 1...3)
                // One of the devices is to be tried again.
                harness.simulator.inject(SimulatorFault(.answer(status: 503), pns: .apns, token: token(2), count: 1))
                let send = try await harness.send(to: "username:ann", request: first)
                let change = RegisterRequest.issue(candidate: .random(), handles: [])
                let user = try UserName("ann", .folded)
                let register = try await harness.accept(.register(change), user: user, request: second)
                try await harness.publish(register)
                for id in [send, register.id] { try await harness.wait(for: id) }
                while self.lines(of: first).filter({ $0.fields["devices.accepted"] != nil }).count < 2
                    || self.lines(of: second).isEmpty
                {
                    try await Task.sleep(for: .milliseconds(10))
                }
                #expect(self.lines(of: first).allSatisfy { $0.fields["job.id"] == "\(send)" })
                #expect(Set(self.lines(of: first).compactMap { $0.fields["queue"] }) == Set(queues))
                #expect(self.lines(of: second).allSatisfy { $0.fields["job.id"] == "\(register.id)" })
            }
        }

        @Test func aDeadLettersLineNamesItsJobs() async throws {
            let request = try #require(RequestID("r-1"))
            try await PipelineHarness.with([.dead], logger: self.log.logger(.info)) { harness in
                let send = try await harness.send(to: "username:ann", isPublished: false, request: request)
                let message = try harness.message(of: send)
                var dead = OutgoingMessage(hint: message)
                dead.routingKey = QueueName.dead
                // The second finds nothing that it stands for.
                for count in 1...2 {
                    #expect(await harness.broker.publish([dead], deadline: .seconds(1)) == [.published])
                    while self.log.lines.filter({ $0.fields["reason"] != nil }).count < count {
                        try await Task.sleep(for: .milliseconds(5))
                    }
                }
                let lines = self.log.lines.filter { $0.fields["reason"] != nil }
                #expect(lines.map { $0.fields["job.id"] } == ["\(send)", nil])
                #expect(lines.map { $0.fields["request.id"] } == ["r-1", nil])
                #expect(lines.allSatisfy { $0.level == .error && $0.fields["message.id"] == "\(message.id)" })
                // What is replayed is the request's still.
                let letters = try await harness.store.deadLetters(DeadLetterQuery(app: .default, limit: 10)).items
                let letter = try #require(letters.last)
                let replay = try await harness.store.replay(deadLetter: letter.id, app: .default)
                #expect(replay == .begun(job: send, devices: nil))
                #expect(try await harness.store.job(send, app: .default)?.request == request)
            }
        }
    }
}

extension QueueConsumerTests {
    @Test func aFailureNamesMessageQueueAndJobs() async throws {
        let (log, jobs) = (LogRecorder(), [JobID.make(), JobID.make()])
        try await self.publish(["7"])
        let consumer = self.consumer(logger: log.logger(.info)) { _, _ in
            LogContext.set(jobs: (jobs + jobs).map { JobTrace($0) })
            // A child of the task has its context.
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { throw StoreError(.corrupt, "no") }
                try await group.waitForAll()
            }
        }
        let running = Task { try await consumer.run() }
        while log.lines.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        _ = await running.result
        var fields = log.lines[0].fields
        let error = fields.removeValue(forKey: "error")
        #expect(error?.contains("no") == true)
        #expect(fields == ["message.id": "7", "queue": Self.queue, "job.id": "\(jobs[0]),\(jobs[1])"])
    }
}
