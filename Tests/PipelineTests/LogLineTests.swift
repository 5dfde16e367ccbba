import Broker
import LogRecorder
import Logging
import PushModel
import PushlineLogging
import PushlineSimulator
import Store
import Testing

@testable import Pipeline

extension PipelineLoadTests {
    /// What an operator finds who looks for the id of a job in the workers' logs.
    @Suite(.timeLimit(.minutes(2))) struct LogLineTests {
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
                while self.lines(of: send).count < 2 || self.lines(of: register.id).isEmpty {
                    try await Task.sleep(for: .milliseconds(10))
                }
                let queues = Set(self.lines(of: send).compactMap { $0.fields["queue"] })
                #expect(queues == [QueueName.work(.send, .normal), QueueName.work(.deliver(.apns), .normal)])
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
    }
}

extension QueueConsumerTests {
    @Test func aFailureNamesMessageQueueAndJobs() async throws {
        let (log, jobs) = (LogRecorder(), [JobID.make(), JobID.make()])
        try await self.publish(["7"])
        let consumer = self.consumer(logger: log.logger(.info)) { _, _ in
            LogContext.set(jobs: jobs + jobs)
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
