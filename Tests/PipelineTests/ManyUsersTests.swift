import Broker
import Foundation
import Hub
import PushModel
import PushServices
import PushlineSimulator
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// A send to many users is one job, in pages as any campaign.
@Suite(.serialized, .timeLimit(.minutes(3)), .undisturbed) struct ManyUsersTests {
    @Test func aSendTo3000UsersIsOneJobInPages() async throws {
        try await PipelineHarness.with { harness in
            try await harness.bring(users: 0..<1200, devicesOfEach: 1)
            try await harness.bring(users: 1200..<1250, devicesOfEach: 2)
            try await harness.register("user7", .fcm, "fcm-of-seven")
            try await harness.bring(users: 9000..<9100, devicesOfEach: 1)
            // One is gone for good, some are told to come again.
            harness.simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: token(5)))
            let busy = SimulatorFault(.answer(reason: "ServiceUnavailable"), pns: .apns, count: 50)
            harness.simulator.inject(busy)
            // Twice the same, and more than half whom nobody knows.
            let names = (0..<3000).map { "user\($0)" } + ["user1", "nobody", "user99999"]
            let job = try await harness.accept(.send(try Self.send(to: names)))
            try await harness.publish(job)
            let done = try await harness.wait(for: job.id, within: .seconds(90))
            #expect(done.state == .completed)
            expectSound(done)
            let apns = try #require(done.counts[.apns])
            #expect(apns.targets == 1300)
            #expect(apns.accepted == 1299)
            #expect(apns.failed == [.unregistered: 1])
            #expect(done.counts[.fcm]?.accepted == 1)
            let accepted = harness.simulator.received().filter { $0.status == 200 }
            #expect(Set(accepted.map(\.token)).count == 1300)
        }
    }

    @Test func unpublishedPagesAreSwept() async throws {
        try await PipelineHarness.with([.delivery, .sweeper]) { harness in
            try await harness.bring(users: 0..<300, devicesOfEach: 1)
            let job = try await harness.accept(.send(try Self.send(to: (0..<300).map { "user\($0)" })))
            // No queue takes a message there.
            try await harness.fanOut(job.id)
            let done = try await harness.wait(for: job.id, within: .seconds(60))
            #expect(done.counts[.apns]?.accepted == 300)
            // On a busy machine an answer may come too late, and the device be sent to again.
            #expect(Set(harness.simulator.received().map(\.token)).count == 300)
            expectSound(done)
        }
    }

    private static func send(to users: [String]) throws -> SendRequest {
        SendRequest(
            audience: .any(try users.map { Tag(user: try UserName($0, .folded)) }),
            content: .message(.init(title: "t", body: "b"))
        )
    }
}

extension PipelineHarness {
    /// Devices of users, brought as an import does: device `i` of user `n` has the token `n + 100,000 i`.
    fileprivate func bring(users: Range<Int>, devicesOfEach count: Int) async throws {
        var rows: [ImportedRegistration] = []
        for user in users {
            for device in 0..<count {
                rows.append(
                    ImportedRegistration(
                        pns: .apns,
                        handle: Handle(stored: token(user + 100_000 * device)),
                        user: try UserName("user\(user)", .folded)
                    )
                )
            }
        }
        for start in stride(from: 0, to: rows.count, by: 500) {
            let group = Array(rows[start..<min(rows.count, start + 500)])
            _ = try await self.store.importRegistrations(group, app: .default, sequence: nil, lifetime: nil)
        }
    }
}
