import PushModel
import Store
import Testing

/// What any store must do with the calls of hubs over a wire (rule 18).
@Suite(.everyStore) struct HubCallContract {
    private let fixture: any StoreFixture
    private let scenario: Scenario
    private var store: any ResultStore { self.scenario.store }

    init() throws {
        self.fixture = try StoreFixtures.make()
        self.scenario = Scenario(self.fixture)
    }

    private static let time = Duration.seconds(30)

    /// A job of one call.
    private func call() async throws -> HubCallKey {
        let expression = TagExpression.tag(try Tag("news", .folded))
        let recipient = Recipient(place: 1, pns: .apns, call: expression)
        let send = SendRequest(to: .hub(expression, calls: 1), content: .message(.init(body: "b")))
        let job = try await self.scenario.accept(
            NewJob(
                app: .default,
                work: .send(send),
                lifetime: .seconds(3600),
                recipients: RecipientList(handles: [recipient])
            )
        )
        return HubCallKey(job: job.id, pns: .apns, number: recipient.number)
    }

    private func begin(_ call: HubCallKey) async throws -> HubCallStart {
        try await self.store.beginHubCalls([call], lasting: Self.time, isWithdrawn: false)[0]
    }

    private func shown(_ call: HubCallKey) async throws -> HubCall? {
        let calls = try await self.store.hubCalls(of: call.job, app: .default, limit: 10)
        #expect(calls.count <= 1)
        return calls.first
    }

    @Test func aCallThatWasTakenIsNotMadeAgain() async throws {
        let call = try await self.call()
        #expect(try await self.begin(call) == .begun)
        #expect(try await self.shown(call)?.state == .submitting)
        try await self.store.recordHubCalls([call], .ended(.taken(id: "n-1")))
        #expect(try await self.begin(call) == .taken)
        let shown = try #require(try await self.shown(call))
        #expect(shown == HubCall(key: call, state: .taken, id: "n-1", outcome: nil, telemetry: .pending))
    }

    @Test func aCallWithoutAnAnswerIsNeverMadeAgain() async throws {
        let call = try await self.call()
        #expect(try await self.begin(call) == .begun)
        // Another process, while the first may be at it.
        let another = try self.fixture.another()
        guard
            case .underWay(let left) = try await another.beginHubCalls(
                [call],
                lasting: Self.time,
                isWithdrawn: false
            )[0]
        else {
            throw Unexpected("begun twice")
        }
        #expect(left > .zero && left <= Self.time)
        self.scenario.time.advance(Self.time)
        #expect(try await self.shown(call)?.state == .unknown)
        #expect(try await self.begin(call) == .unknown)
        // The first one was slow, and not dead: the outcome stands by now.
        try await self.store.recordHubCalls([call], .ended(.taken(id: "late")))
        #expect(try await self.begin(call) == .unknown)
        let lost = HubCall(key: call, state: .unknown, id: nil, outcome: nil, telemetry: nil)
        #expect(try await self.shown(call) == lost)
    }

    @Test func aCallThatWasSurelyNotTakenIsMadeAgain() async throws {
        let call = try await self.call()
        for _ in 0..<3 {
            #expect(try await self.begin(call) == .begun)
            try await self.store.recordHubCalls([call], .ended(.notTaken))
            #expect(try await self.shown(call)?.state == .waiting)
        }
        #expect(try await self.begin(call) == .begun)
        try await self.store.recordHubCalls([call], .ended(.unknown))
        #expect(try await self.begin(call) == .unknown)
    }

    @Test func aCallThatIsWithdrawnIsOnlyLookedUp() async throws {
        let call = try await self.call()
        func look() async throws -> HubCallStart {
            try await self.store.beginHubCalls([call], lasting: Self.time, isWithdrawn: true)[0]
        }
        #expect(try await look() == .withdrawn)
        #expect(try await self.shown(call) == nil)
        #expect(try await self.begin(call) == .begun)
        guard case .underWay = try await look() else { throw Unexpected("it is under way") }
        try await self.store.recordHubCalls([call], .ended(.notTaken))
        #expect(try await look() == .withdrawn)
        #expect(try await self.begin(call) == .begun)
        try await self.store.recordHubCalls([call], .ended(.taken(id: nil)))
        #expect(try await look() == .taken)
    }

    @Test func theFirstOfTheHandlesThatWentTogetherIsAskedAbout() async throws {
        let first = try await self.call()
        let second = HubCallKey(job: first.job, pns: first.pns, number: first.number + 1)
        let starts = try await self.store.beginHubCalls([first, second], lasting: Self.time, isWithdrawn: false)
        #expect(starts == [.begun, .begun])
        try await self.store.recordHubCalls([first, second], .ended(.taken(id: "n-1")))
        self.scenario.time.advance(.seconds(2))
        #expect(try await self.store.takeHubCalls(limit: 10).map(\.key) == [first])
        let shown = try await self.store.hubCalls(of: first.job, app: .default, limit: 10)
        #expect(shown.map(\.id) == ["n-1", "n-1"] && shown.map(\.telemetry) == [.pending, .together])
    }

    @Test func aHubWithoutTelemetryIsNotTakenForOneThatIsSlow() async throws {
        let silent = try await self.call()
        _ = try await self.begin(silent)
        // Its tier gives no id.
        try await self.store.recordHubCalls([silent], .ended(.taken(id: nil)))
        #expect(try await self.shown(silent)?.telemetry == .notOffered)
        for (news, telemetry) in [
            (HubCallNews.pending(nil, again: .seconds(4)), HubCall.Telemetry.pending), (.notOffered, .notOffered),
            (.ended(nil), .ended),
        ] {
            let call = try await self.call()
            _ = try await self.begin(call)
            try await self.store.recordHubCalls([call], .ended(.taken(id: "n-1")))
            try await self.store.recordHubCalls([call], .said(news))
            let shown = try await self.shown(call)
            #expect(shown?.telemetry == telemetry && shown?.outcome == nil)
        }
    }

    @Test func ofARefusedCallNothingIsAsked() async throws {
        let call = try await self.call()
        _ = try await self.begin(call)
        try await self.store.recordHubCalls([call], .ended(.refused))
        self.scenario.time.advance(.seconds(3600))
        #expect(try await self.store.takeHubCalls(limit: 10) == [])
        #expect(try await self.shown(call)?.state == .refused)
    }

    @Test func aCallOfNoJobIsNotBegun() async throws {
        let call = HubCallKey(job: .make(), pns: .apns, number: 1)
        await #expect(throws: StoreError.self) { try await self.begin(call) }
    }

    @Test func whatBecameOfACallIsAskedByOneAtATimeAndUntilNoMore() async throws {
        let call = try await self.call()
        _ = try await self.begin(call)
        try await self.store.recordHubCalls([call], .ended(.taken(id: "n-1")))
        #expect(try await self.store.takeHubCalls(limit: 10) == [])
        self.scenario.time.advance(.seconds(2))
        #expect(
            try await self.store.takeHubCalls(limit: 10) == [
                AskedHubCall(key: call, app: .default, id: "n-1", asked: 0)
            ]
        )
        // Whoever took it may have died.
        #expect(try await self.fixture.another().takeHubCalls(limit: 10) == [])
        self.scenario.time.advance(.seconds(60))
        #expect(try await self.store.takeHubCalls(limit: 10).count == 1)
        let first = HubCall.Outcome(state: "Processing", devices: ["Success": 1])
        try await self.store.recordHubCalls([call], .said(.pending(first, again: .seconds(4))))
        #expect(try await self.shown(call)?.outcome == first)
        self.scenario.time.advance(.seconds(4))
        #expect(try await self.store.takeHubCalls(limit: 10).map(\.asked) == [1])
        try await self.store.recordHubCalls([call], .said(.ended(nil)))
        #expect(try await self.shown(call)?.outcome == first)
        #expect(try await self.shown(call)?.telemetry == .ended)
        self.scenario.time.advance(.seconds(3600))
        #expect(try await self.store.takeHubCalls(limit: 10) == [])
    }

    @Test func aCallGoesWithItsJob() async throws {
        let call = try await self.call()
        _ = try await self.begin(call)
        try await self.store.recordHubCalls([call], .ended(.taken(id: nil)))
        _ = try await self.store.cancel(call.job, app: .default)
        self.scenario.time.advance(.seconds(7200))
        try await self.store.perform(.expireJobs, limit: 10)
        let removed = try await self.store.perform(.remove(.jobs, olderThan: .seconds(3600)), limit: 100)
        #expect(removed.rows > 0)
        #expect(try await self.shown(call) == nil)
        #expect(try await self.fixture.faults() == [])
    }
}
