import Broker
import PushModel
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// A sweeper in a process that has no send worker, as that of the API.
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct SweeperAloneTests {
    /// It says that its delivery messages are at the broker: else each is published anew whenever the grace is over.
    @Test func aSweptMessageIsPublishedOnce() async throws {
        try await PipelineHarness.with([.sweeper]) { harness in
            try await harness.register("ann", .apns, token(1))
            let id = try await harness.send(to: "username:ann", isPublished: false)
            // To a broker that takes nothing: the sweeper publishes it.
            try await harness.fanOut(id)
            let queue = QueueName.work(.deliver(.apns), .normal)
            while try await harness.broker.depth(of: queue).ready == 0 {
                try await Task.sleep(for: .milliseconds(20))
            }
            try await Task.sleep(for: OutboxMessage.grace + .seconds(2))
            let copies = try await harness.broker.depth(of: queue).ready
            #expect(copies == 1)
        }
    }

    /// As when the process that leads is stopped, or its disk hangs.
    @Test func otherSweepersTakeOverFromAStalledLeader() async throws {
        try await PipelineHarness.with([]) { harness in
            let leadership = try #require(try await harness.store.lead(as: .sweeper))
            let queue = QueueName.work(.send, .normal)
            try await harness.run([.sweeper]) {
                _ = try await harness.send(to: "username:ann", isPublished: false)
                let stopped = try await harness.send(to: "username:ann", expires: .seconds(1))
                while try await harness.broker.depth(of: queue).ready == 0 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await harness.wait(for: stopped)
            }
            withExtendedLifetime(leadership) {}
        }
    }

    /// A send worker died, or the store took nothing, between a page of a retired service and its outcome.
    @Test func aPageOfARetiredServiceIsClosed() async throws {
        try await PipelineHarness.with([.sweeper]) { harness in
            try await harness.register("old", .mpns, "http://notify.example/abc", tags: ["old"])
            let request = SendRequest(
                audience: .any([.tag(try Tag("old", .folded)), .tag(try Tag("none", .folded))]),
                platforms: [.mpns],
                content: .message(.init(title: nil, body: "hello"))
            )
            let job = try await harness.accept(.send(request))
            let claim = try #require(try await harness.store.claim(try harness.message(of: job.id).id, peeking: false))
            guard case .campaign(let campaign) = claim.work else { throw HarnessError("it is no campaign") }
            var cursor = try #require(campaign.cursors.first)
            let batch = FanOutPage(page: 0, from: 0, to: cursor.through, size: 1)
            (cursor.after, cursor.nextPage, cursor.isDone) = (cursor.through, 1, true)
            let step = PageStep(sequence: job.sequence, cursors: [cursor], pns: .mpns, batches: [batch])
            guard case .written = try await harness.store.commit(.pages(step), of: claim) else {
                throw HarnessError("nothing was written")
            }
            let ended = try await harness.wait(for: job.id, within: OutboxMessage.grace + .seconds(5))
            #expect(ended.counts[.mpns]?.failed == [.retiredService: 1])
        }
    }
}
