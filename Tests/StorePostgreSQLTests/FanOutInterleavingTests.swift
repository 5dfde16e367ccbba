import Foundation
import PushModel
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing
import Undisturbed

@testable import StorePostgreSQL

/// Two stores that fan out, or change what is fanned out, both of which have read before either writes (rules 2, 4 and 15).
@Suite(.enabled(if: TestServer.isThere), .undisturbed) struct FanOutInterleavingTests {
    private let steps: FanOutSteps
    private var first: PostgreSQLStore { self.steps.first }
    private var second: PostgreSQLStore { self.steps.second }

    init() throws { self.steps = try FanOutSteps() }

    @Test func theLaterOfTwoClaimsVoidsTheEarlier() async throws {
        try await self.steps.register(["ann"])
        let message = try #require(try await self.steps.accept(["ann", "ann"]).1.first)
        let (first, second) = (self.first, self.second)
        let (one, other) = try await self.steps.together(holding: "message") {
            try await first.claim(message.id, peeking: false)
        } _: {
            try await second.claim(message.id, peeking: false)
        }
        let claims = [one, other].compactMap { $0 }.sorted { $0.message.epoch < $1.message.epoch }
        let latest = try #require(claims.last)
        #expect(latest.message.epoch == 2 * OutboxMessage.claimStep && latest.claims == 2)
        // The earlier has found that it is void, if it was that when its work was read.
        for earlier in claims.dropLast() {
            #expect(earlier.message.epoch == OutboxMessage.claimStep && earlier.claims == 1)
            #expect(try await !first.extend(earlier))
            #expect(try await first.commit(self.steps.step(for: earlier), of: earlier) == .lost)
        }
        #expect(try await second.commit(self.steps.step(for: latest), of: latest).written.isDone)
        #expect(try await self.steps.faults() == [])
    }

    /// Both have found the sends in the message.
    @Test(arguments: [false, true]) func oneOfTwoCommitsOfAClaimIsMade(isPeek: Bool) async throws {
        try await self.steps.register(["ann", "bob"])
        let message = try #require(try await self.steps.accept(["ann", "nobody", "bob"]).1.first)
        let (first, second) = (self.first, self.second)
        let claim = try #require(try await first.claim(message.id, peeking: isPeek))
        let step = try self.steps.step(for: claim)
        let (one, other) = try await self.steps.together(holding: "job") {
            try await first.commit(step, of: claim)
        } _: {
            try await second.commit(step, of: claim)
        }
        #expect([one, other].filter { $0 == .lost }.count == 1)
        let written = try (one == .lost ? other : one).written
        #expect(written.isDone && written.lost.isEmpty)
        #expect(try await self.steps.number("SELECT count(*) FROM message") == 1)
        #expect(try await self.steps.number("SELECT open FROM message") == 2)
        #expect(try await self.steps.number("SELECT size FROM message") == 2)
        #expect(try await self.steps.faults() == [])
    }

    @Test(arguments: [false, true]) func oneOfTwoCommitsOfAPageIsMade(isPeek: Bool) async throws {
        try await self.steps.register(["ann"], devices: SmallSend.maximumDevices + 1)
        let message = try #require(try await self.steps.accept(["ann"]).1.first)
        let (first, second) = (self.first, self.second)
        let claim = try #require(try await first.claim(message.id, peeking: isPeek))
        let step = try self.steps.page(of: claim, devices: SmallSend.maximumDevices + 1)
        let (one, other) = try await self.steps.together(holding: "job") {
            try await first.commit(step, of: claim)
        } _: {
            try await second.commit(step, of: claim)
        }
        #expect([one, other].filter { $0 == .lost }.count == 1)
        #expect(try (one == .lost ? other : one).written.isDone)
        #expect(try await self.steps.number("SELECT count(*) FROM batch") == 1)
        #expect(try await self.steps.number("SELECT devices FROM cursor WHERE pns = 1") == SmallSend.maximumDevices + 1)
        #expect(try await self.steps.faults() == [])
    }

    /// The send was a member still when it was read, and queued when it was to be cancelled.
    @Test func aSendIsFannedOutOrCancelledAndNotBoth() async throws {
        try await self.steps.register(["ann", "bob"])
        let (jobs, messages) = try await self.steps.accept(["ann", "bob"])
        let message = try #require(messages.first)
        let (first, second) = (self.first, self.second)
        let claim = try #require(try await first.claim(message.id, peeking: false))
        let step = try self.steps.step(for: claim)
        let (result, cancelled) = try await self.steps.together(holding: "job") {
            try await first.commit(step, of: claim)
        } _: {
            try await second.cancel(jobs[0], app: .default)
        }
        let written = try result.written
        #expect(written.isDone)
        // What was fanned out before is at a worker, who counts its devices.
        #expect(cancelled?.state == (written.lost.isEmpty ? .cancelling : .cancelled))
        #expect(try await first.job(jobs[1], app: .default)?.state == .running)
        let batches = try await first.batches(of: #require(written.deliveries.compactMap { $0 }.first).id)
        #expect(batches.map(\.key.job) == (written.lost.isEmpty ? jobs : [jobs[1]]))
        #expect(try await self.steps.faults() == [])
    }

    /// The message had two members when both read it.
    @Test func whoJoinsAMessageThatIsFannedOutIsNotLost() async throws {
        try await self.steps.register(["ann", "bob"])
        let message = try #require(try await self.steps.accept(["ann", "bob"]).1.first)
        let (first, second) = (self.first, self.second)
        let claim = try #require(try await first.claim(message.id, peeking: true))
        let step = try self.steps.step(for: claim)
        let more = try self.steps.sends(to: ["ann", "bob", "ann"])
        let (result, joined) = try await self.steps.together(holding: "message") {
            try await first.commit(step, of: claim)
        } _: {
            try await second.accept(more, joining: message.id)
        }
        // They have joined it, and are left for the next step, or are in one of their own.
        #expect(try result.written.isDone == !joined.messages.isEmpty)
        let left = joined.messages.first ?? message
        let rest = try #require(try await second.claim(left.id, peeking: false))
        guard case .group(let sends, _)? = rest.work else { throw Unexpected("\(rest)") }
        #expect(sends.map(\.id) == more.map(\.id))
        #expect(try await second.commit(self.steps.step(for: rest), of: rest).written.isDone)
        #expect(try await self.steps.faults() == [])
    }

    /// It was alone when its first page was read.
    @Test func aCampaignThatIsJoinedHasNoPagesOfItsOwn() async throws {
        try await self.steps.register(["ann"], devices: SmallSend.maximumDevices + 1)
        let message = try #require(try await self.steps.accept(["ann"]).1.first)
        let (first, second) = (self.first, self.second)
        let claim = try #require(try await first.claim(message.id, peeking: true))
        let step = try self.steps.page(of: claim, devices: SmallSend.maximumDevices + 1)
        let more = try self.steps.sends(to: ["ann"])
        let (result, joined) = try await self.steps.together(holding: "message") {
            try await first.commit(step, of: claim)
        } _: {
            try await second.accept(more, joining: message.id)
        }
        let count = try await self.steps.number("SELECT count(*) FROM batch")
        if joined.messages.isEmpty {
            #expect(result == .joined && count == 0)
            let group = try #require(try await second.claim(message.id, peeking: false))
            let written = try await second.commit(self.steps.step(for: group), of: group).written
            #expect(written.isDone && written.ownMessages.count == 2)
        } else {
            #expect(try result.written.isDone && count == 1)
        }
        #expect(try await self.steps.faults() == [])
    }

    /// Neither has seen what the other counts for the limit.
    @Test func twoStepsAreBothCountedForARateLimit() async throws {
        try await self.steps.register(["ann", "bob"])
        var messages: [OutboxMessage] = []
        for user in ["ann", "bob"] { messages += try await self.steps.accept([user]).1 }
        let (first, second, clock) = (self.first, self.second, self.first.clock)
        try await self.steps.stores.fixture.run(
            "INSERT INTO rate_limit(app, pns, credential, rate, tat) SELECT number, 1, 0, 10, \(clock.now * 1_000_000) FROM app"
        )
        let one = try #require(try await first.claim(messages[0].id, peeking: true))
        let other = try #require(try await second.claim(messages[1].id, peeking: true))
        let step = (try self.steps.step(for: one), try self.steps.step(for: other))
        let results = try await self.steps.together(holding: "rate_limit") {
            try await first.commit(step.0, of: one)
        } _: {
            try await second.commit(step.1, of: other)
        }
        #expect(try results.0.written.isDone && results.1.written.isDone)
        let tat = try await self.steps.number("SELECT tat FROM rate_limit")
        // Each device is a tenth of a second.
        #expect(tat == Int(clock.now + 200) * 1_000_000)
        #expect(try await self.steps.faults() == [])
    }

    /// The server has all of it, and the answer does not come: it is found out that it was committed, and nothing is written twice.
    @Test(arguments: [false, true]) func aCommitWhoseAnswerIsLostSaysWhatIsWritten(isCampaign: Bool) async throws {
        let count = isCampaign ? SmallSend.maximumDevices + 1 : 1
        try await self.steps.register(["ann"], devices: count)
        let message = try #require(try await self.steps.accept(isCampaign ? ["ann"] : ["ann", "nobody"]).1.first)
        let proxy = try CuttingProxy(before: try #require(Int(try TestServer.ports()[0])))
        defer { proxy.end() }
        let (schema, name) = (self.steps.stores.fixture.schema, "lost\(UUID().uuidString)")
        let store = try PostgreSQLStore(
            TestServer.plainAddresses([proxy.port], schema: schema, words: "&application_name=\(name)"),
            clock: self.first.clock,
            deadlines: TestServer.deadlines
        )
        let claim = try #require(try await store.claim(message.id, peeking: false))
        let step = try isCampaign ? self.steps.page(of: claim, devices: count) : self.steps.step(for: claim)
        let gate = try Gate("SELECT 1 FROM job FOR UPDATE", schema: schema, name: name)
        async let result = store.commit(step, of: claim)
        try await gate.wait(for: 1)
        proxy.cutAnswers(true)
        try gate.open()
        while proxy.cuts == 0 { try await Task.sleep(for: .milliseconds(10)) }
        proxy.cutAnswers(false)
        let written = try await result.written
        #expect(written.isDone)
        let delivery = try #require(written.deliveries.compactMap { $0 }.first)
        #expect(try await self.first.batches(of: delivery.id).count == 1)
        #expect(try await self.steps.number("SELECT count(*) FROM message") == 1)
        #expect(try await self.steps.faults() == [])
    }
}
