import Foundation
import HTTP2Engine
import NIOConcurrencyHelpers
import PushlineSimulator
import Testing
import Undisturbed

@Suite("Batches", .serialized, .undisturbed)
struct BatchTests {
    @Test("every request is sent once and has its own answer")
    func all() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(
                SimulatorFault(.answer(reason: "Unregistered", timestamp: 1_700_000_000_000), token: Origin.token(777))
            )
            let outcomes = await origin.client.send(origin.batch(1000))
            #expect(outcomes.accepted == 999)
            guard case .response(let dead) = outcomes[777] else {
                Issue.record("\(outcomes[777])")
                return
            }
            #expect(dead.status == 410)
            #expect(String(decoding: dead.body, as: UTF8.self).contains("1700000000000"))
            let requests = origin.requestsByToken()
            #expect(requests.count == 1000)
            #expect(requests.values.allSatisfy { $0 == 1 })
            let push = try #require(origin.simulator.received(token: Origin.token(7)).first)
            #expect(push.headers["apns-id"] == Origin.id(7))
            #expect(push.body == #"{"aps":{"alert":"hello"}}"#)
        }
    }

    @Test("concurrent batches take turns and all complete")
    func several() async throws {
        try await Origin.with { origin in
            let accepted = await withTaskGroup(of: Int.self) { group in
                for number in 0..<6 {
                    group.addTask { await origin.client.send(origin.batch(150, from: number * 150)).accepted }
                }
                return await group.reduce(0, +)
            }
            #expect(accepted == 900)
            #expect(origin.simulator.counts.apns.distinctTokens == 900)
            #expect(origin.simulator.counts.apns.requests == 900)
        }
    }

    @Test("an empty batch has no outcomes")
    func empty() async throws {
        try await Origin.with { origin in
            #expect(await origin.client.send(origin.batch(0)).isEmpty)
        }
    }

    @Test("requested headers of failures are kept")
    func interesting() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(SimulatorFault(.answer(reason: "ServiceUnavailable", retryAfter: .seconds(7))))
            let outcomes = await origin.client.send(origin.batch(1))
            guard case .response(let response) = outcomes[0] else {
                Issue.record("\(outcomes)")
                return
            }
            #expect(response.status == 503)
            #expect(response["retry-after"] == "7")
        }
    }

    @Test("stopping a batch withdraws unsent requests")
    func stop() async throws {
        try await Origin.with(SimulatorConfiguration(apnsStreams: 10)) { origin in
            origin.simulator.inject(SimulatorFault(.delay, latency: 40))
            let start = ContinuousClock.now
            let outcomes = await origin.client.send(
                origin.batch(5000) { ContinuousClock.now - start > .milliseconds(300) }
            )
            #expect(ContinuousClock.now - start < .seconds(20))
            let stopped = outcomes.count { $0 == .notProcessed(.stopped) }
            #expect(stopped > 0)
            #expect(outcomes.accepted > 0)
            #expect(stopped + outcomes.accepted == 5000)
            #expect(origin.simulator.counts.apns.requests == outcomes.accepted)
        }
    }

    @Test("cancelling the task withdraws unsent requests")
    func cancel() async throws {
        try await Origin.with(SimulatorConfiguration(apnsStreams: 10)) { origin in
            origin.simulator.inject(SimulatorFault(.delay, latency: 40))
            let task = Task { await origin.client.send(origin.batch(5000)) }
            try await Task.sleep(for: .milliseconds(300))
            task.cancel()
            let outcomes = await task.value
            #expect(outcomes.count { $0 == .notProcessed(.stopped) } > 0)
            #expect(outcomes.notProcessed + outcomes.accepted == 5000)
        }
    }

    @Test("requests not sent in time are returned")
    func outOfTime() async throws {
        try await Origin.with(SimulatorConfiguration(apnsStreams: 10)) { origin in
            origin.simulator.inject(SimulatorFault(.delay, latency: 40))
            let outcomes = await origin.client.send(origin.batch(5000, time: .milliseconds(300)))
            #expect(outcomes.count { $0 == .notProcessed(.outOfTime) } > 0)
            #expect(outcomes.notProcessed + outcomes.accepted == 5000)
            #expect(origin.simulator.counts.apns.requests == outcomes.accepted)
        }
    }

    @Test("an unanswered request ends at its deadline")
    func silence() async throws {
        try await Origin.with { origin in
            origin.simulator.inject(SimulatorFault(.silence, token: Origin.token(5)))
            let start = ContinuousClock.now
            let outcomes = await origin.client.send(origin.batch(100, requestTimeout: .seconds(2)))
            #expect(ContinuousClock.now - start < .seconds(4))
            #expect(outcomes[5] == .unanswered(.timeout))
            #expect(outcomes.accepted == 99)
            // The stream's place is free again.
            #expect(await origin.client.send(origin.batch(100, from: 100)).accepted == 100)
        }
    }

    @Test("a closed client processes nothing")
    func closed() async throws {
        try await Origin.with { origin in
            #expect(await origin.client.send(origin.batch(1)).accepted == 1)
            await origin.client.close()
            #expect(await origin.client.send(origin.batch(2)) == [.notProcessed(.closed), .notProcessed(.closed)])
        }
    }

    @Test("a path with a line break is not sent")
    func hostilePath() async throws {
        try await Origin.with { origin in
            var batch = origin.batch(3)
            let describe = batch.describe
            batch.describe = { index, head in
                describe(index, &head)
                if index == 1 { head.appendPath(Array("\r\nx: y".utf8)[...]) }
                if index == 2 { head.addField("x-y") { $0.append(contentsOf: "a\nb".utf8) } }
            }
            let outcomes = await origin.client.send(batch)
            #expect(outcomes[0] == .response(HTTP2Response(status: 200)))
            #expect(outcomes[1] == .notProcessed(.invalid))
            #expect(outcomes[2] == .notProcessed(.invalid))
        }
    }

    @Test(
        "a shared header that would break out of its line is refused",
        arguments: ["a\r\nb", "a\nb", "a\u{0}", " a", "ä"]
    )
    func hostileHeader(value: String) {
        #expect(throws: HTTP2InvalidField.self) {
            try HTTP2HeaderBlock(method: "POST", authority: "a", fields: [HTTP2Field("apns-collapse-id", value)])
        }
    }
}
