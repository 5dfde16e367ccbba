import Broker
import Foundation
import Hub
import HubEmbedded
import PushModel
import PushServices
import PushlineSimulator
import Store
import StoreSQLite
import Testing

@testable import Pipeline

/// A send to many users is one job, in pages as any campaign.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ManyUsersTests {
    @Test func threeThousandUsersAreOneJobInPages() async throws {
        try await Plant.with { plant in
            try await plant.bring(users: 0..<1200, devicesOfEach: 1)
            try await plant.bring(users: 1200..<1250, devicesOfEach: 2)
            try await plant.register("user7", .fcm, "fcm-of-seven")
            try await plant.bring(users: 9000..<9100, devicesOfEach: 1)
            // One is gone for good, some are told to come again.
            plant.simulator.inject(SimulatorFault(.answer(reason: "Unregistered"), pns: .apns, token: token(5)))
            let busy = SimulatorFault(.answer(reason: "ServiceUnavailable"), pns: .apns, count: 50)
            plant.simulator.inject(busy)
            // Twice the same, and more than half whom nobody knows.
            let names = (0..<3000).map { "user\($0)" } + ["user1", "nobody", "user99999"]
            let job = try await plant.accept(.send(try Self.send(to: names)))
            try await plant.publish(job)
            let done = try await plant.wait(for: job.id, within: .seconds(90))
            #expect(done.state == .completed)
            expectSound(done)
            let apns = try #require(done.tallies[.apns])
            #expect(apns.targets == 1300)
            #expect(apns.accepted == 1299)
            #expect(apns.failed == [.unregistered: 1])
            #expect(done.tallies[.fcm]?.accepted == 1)
            let accepted = plant.simulator.received().filter { $0.status == 200 }
            #expect(Set(accepted.map(\.token)).count == 1300)
        }
    }

    @Test func whatWasNotPublishedIsSweptUp() async throws {
        try await Plant.with([.delivery, .sweeper]) { plant in
            try await plant.bring(users: 0..<300, devicesOfEach: 1)
            let job = try await plant.accept(.send(try Self.send(to: (0..<300).map { "user\($0)" })))
            // No queue takes a message there.
            try await plant.fanOut(job.id)
            let done = try await plant.wait(for: job.id, within: .seconds(60))
            #expect(done.tallies[.apns]?.accepted == 300)
            // On a busy machine an answer may come too late, and the device be sent to again.
            #expect(Set(plant.simulator.received().map(\.token)).count == 300)
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

extension Plant {
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
        let sequence = try await self.store.beginImport()
        for start in stride(from: 0, to: rows.count, by: 500) {
            let group = Array(rows[start..<min(rows.count, start + 500)])
            _ = try await self.store.importRegistrations(group, app: .default, sequence: sequence)
        }
    }
}
