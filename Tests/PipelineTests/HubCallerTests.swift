import Foundation
import Hub
import Logging
import PushModel
import PushServices
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// Sends of an app whose hub is behind a wire, through the whole pipeline: a target is a call (rule 18).
@Suite(.timeLimit(.minutes(2)), .undisturbed) struct HubCallerTests {
    private static let spec: AppSpec = {
        var spec = AppSpec()
        spec.azureHub = AppSpec.AzureHub {
            $0.connectionStringFile = "/nowhere"
            $0.name = "news"
            $0.platforms = [.apns, .fcm]
        }
        return spec
    }()

    /// Runs workers for an app with such a hub.
    private static func with(
        _ workers: PipelineHarness.Workers = .all,
        _ body: @Sendable @escaping (PipelineHarness) async throws -> Void
    ) async throws {
        try await PipelineHarness.with(workers) { harness in
            _ = try await harness.store.apply(.app(.default, Self.spec))
            try await body(harness)
        }
    }

    /// Accepts a send as the API does, with a place for each target and service, and publishes it.
    private static func send(
        _ harness: PipelineHarness,
        to targets: [Target]? = nil,
        services: [PushService] = [.apns, .fcm],
        expires: Duration = .seconds(3600)
    ) async throws -> JobID {
        let expression = TagExpression.tag(try Tag("news", .folded))
        var calls: [Recipient] = []
        for pns in services {
            for target in targets ?? [.call(expression)] {
                let place = calls.count + 1
                switch target {
                case .device(let handle):
                    calls.append(Recipient(place: place, pns: pns, handle: handle, reference: nil))
                case .call(let expression): calls.append(Recipient(place: place, pns: pns, call: expression))
                }
            }
        }
        let send = SendRequest(
            to: .hub(expression, calls: calls.count),
            content: .message(.init(title: "t", body: "b")),
            collapse: "c"
        )
        let job = try await harness.accept(
            .send(send),
            expires: expires,
            recipients: RecipientList(handles: calls)
        )
        try await harness.publish(job)
        return job.id
    }

    private static func call(_ text: String) throws -> Target {
        .call(try TagExpression(parsing: text, .folded))
    }

    private static func devices(_ count: Int) -> [Target] {
        (1...count).map { .device(Handle(stored: String(format: "%064x", $0))) }
    }

    /// Begins a call as another process would.
    private static func begin(
        _ call: HubCallKey,
        _ harness: PipelineHarness,
        lasting time: Duration = .seconds(30)
    ) async throws -> HubCallStart {
        try await harness.store.beginHubCalls([call], lasting: time, isWithdrawn: false)[0]
    }

    private static func key(_ job: JobID, _ pns: PushService, _ place: Int) -> HubCallKey {
        let number = Recipient(place: place, pns: pns, handle: Handle(stored: "x"), reference: nil).number
        return HubCallKey(job: job, pns: pns, number: number)
    }

    private static func calls(_ harness: PipelineHarness, _ job: JobID) async throws -> [HubCall] {
        try await harness.store.hubCalls(of: job, app: .default, limit: 1000)
    }

    @Test func aSendIsOneCallForEachService() async throws {
        try await Self.with { harness in
            let id = try await Self.send(harness)
            let job = try await harness.wait(for: id)
            #expect(job.state == .completed && !job.isWithoutTargets)
            #expect(job.counts.mapValues(\.targets) == [.apns: 1, .fcm: 1])
            #expect(job.counts.mapValues(\.accepted) == [.apns: 1, .fcm: 1])
            expectSound(job)
            let sends = harness.wireHub.sends
            let news = HubSend.Audience.expression(.tag(try Tag("news", .folded)))
            #expect(sends.map(\.audience) == [news, news])
            #expect(Set(sends.compactMap(\.payload?.kind.pns)) == [.apns, .fcm])
            #expect(Set(sends.map(\.trackingID)).count == 2)
            let apns = try #require(sends.compactMap(\.payload).first { $0.kind.pns == .apns })
            #expect(apns.headers.contains { $0.name == "apns-collapse-id" && $0.value == "c" })
            #expect(!apns.headers.contains { $0.name == "apns-topic" })
            #expect(try await Self.calls(harness, id).map(\.state) == [.taken, .taken])
        }
    }

    @Test func aLongListIsDividedIntoCallsThatAreMadeOnceEach() async throws {
        try await Self.with { harness in
            let addresses = try (1...150).map { try Self.call("username:u\($0)") }
            let id = try await Self.send(harness, to: addresses)
            let job = try await harness.wait(for: id)
            #expect(job.counts.mapValues(\.accepted) == [.apns: 150, .fcm: 150])
            expectSound(job)
            #expect(harness.wireHub.sends.count == 300)
            #expect(Set(harness.wireHub.sends.map(\.trackingID)).count == 300)
        }
    }

    @Test func aCallThatWasNotTakenIsMadeAgainWithTheSameName() async throws {
        try await Self.with { harness in
            let busy = HubError(.unavailable(after: .milliseconds(100)), "busy", status: 429)
            harness.wireHub.answer(.failure(busy), .failure(busy), .failure(busy))
            let job = try await harness.wait(for: try await Self.send(harness))
            #expect(job.state == .completed)
            #expect(job.counts.mapValues(\.accepted) == [.apns: 1, .fcm: 1])
            expectSound(job)
            #expect(harness.wireHub.sends.count == 5)
            #expect(Set(harness.wireHub.sends.map(\.trackingID)).count == 2)
        }
    }

    @Test func aCallThatMayHaveBeenTakenIsNotMadeAgain() async throws {
        try await Self.with { harness in
            let lost = HubError(.unknown, "the connection broke")
            harness.wireHub.answer(.failure(lost), .failure(lost))
            let id = try await Self.send(harness)
            let job = try await harness.wait(for: id)
            #expect(job.state == .completed)
            #expect(job.counts.mapValues(\.failed) == [.apns: [.unknown: 1], .fcm: [.unknown: 1]])
            expectSound(job)
            #expect(harness.wireHub.sends.count == 2)
            #expect(try await Self.calls(harness, id).map(\.state) == [.unknown, .unknown])
        }
    }

    @Test func aRefusalIsFinalAndSaysWhy() async throws {
        try await Self.with { harness in
            let refusal = HubError(.refused, "the payload is no good", status: 400)
            harness.wireHub.answer(.failure(refusal), .failure(refusal))
            let id = try await Self.send(harness)
            let job = try await harness.wait(for: id)
            #expect(job.counts.mapValues(\.failed) == [.apns: [.rejected: 1], .fcm: [.rejected: 1]])
            let listed = try await harness.store.deliveries(DeliveryQuery(job: id, app: .default)).items
            #expect(listed.map(\.reason) == ["the payload is no good", "the payload is no good"])
            #expect(listed.map(\.status) == [400, 400])
            #expect(try await Self.calls(harness, id).map(\.state) == [.refused, .refused])
        }
    }

    @Test func aProcessThatDiedInTheCallLeavesItUnknown() async throws {
        try await Self.with([.send, .sweeper]) { harness in
            let id = try await Self.send(harness)
            try await harness.wait(for: id) { $0.state == .running }
            // As a worker leaves it that dies between writing and the answer.
            for (place, pns) in [(1, PushService.apns), (2, .fcm)] {
                let call = Self.key(id, pns, place)
                #expect(try await Self.begin(call, harness, lasting: .milliseconds(500)) == .begun)
            }
            try await harness.run([.delivery]) {
                let job = try await harness.wait(for: id)
                #expect(job.counts.mapValues(\.failed) == [.apns: [.unknown: 1], .fcm: [.unknown: 1]])
                expectSound(job)
            }
            #expect(harness.wireHub.sends.isEmpty)
        }
    }

    @Test func aProcessThatDiedBehindTheAnswerLosesNothing() async throws {
        try await Self.with([.send, .sweeper]) { harness in
            let id = try await Self.send(harness)
            try await harness.wait(for: id) { $0.state == .running }
            for (place, pns) in [(1, PushService.apns), (2, .fcm)] {
                let call = Self.key(id, pns, place)
                _ = try await Self.begin(call, harness)
                try await harness.store.recordHubCalls([call], .ended(.taken(id: "n")))
            }
            try await harness.run([.delivery]) {
                let job = try await harness.wait(for: id)
                #expect(job.counts.mapValues(\.accepted) == [.apns: 1, .fcm: 1])
            }
            #expect(harness.wireHub.sends.isEmpty)
        }
    }

    @Test func whatTheHubSaysStandsBesideTheCall() async throws {
        try await Self.with { harness in
            let done = HubOutcome.known(HubReport(state: .completed, devices: ["Success": 7]))
            harness.wireHub.tell(.notYet, done, .known(HubReport(state: .processing, devices: [:])), done)
            let id = try await Self.send(harness)
            try await harness.wait(for: id)
            for _ in 0..<600
            where try await Self.calls(harness, id).contains(where: { $0.outcome?.state != "Completed" }) {
                try await Task.sleep(for: .milliseconds(50))
            }
            let outcome = HubCall.Outcome(state: "Completed", devices: ["Success": 7])
            let calls = try await Self.calls(harness, id)
            #expect(calls.map(\.outcome) == [outcome, outcome] && calls.map(\.telemetry) == [.complete, .complete])
        }
    }

    @Test func aTierWithoutTelemetryIsToldFromAHubThatIsSlow() async throws {
        try await Self.with { harness in
            harness.wireHub.tell(.notOffered, .notOffered)
            let id = try await Self.send(harness)
            try await harness.wait(for: id)
            for _ in 0..<600
            where try await Self.calls(harness, id).contains(where: { $0.telemetry == .pending }) {
                try await Task.sleep(for: .milliseconds(50))
            }
            let calls = try await Self.calls(harness, id)
            #expect(calls.map(\.telemetry) == [.notOffered, .notOffered] && calls.map(\.outcome) == [nil, nil])
        }
    }

    @Test func aHubThatCannotBeAskedIsAskedAgainLater() async throws {
        try await Self.with { harness in
            let id = try await Self.send(harness)
            try await harness.wait(for: id)
            harness.wireHub.lose(2)
            let done = HubOutcome.known(HubReport(state: .completed, devices: [:]))
            harness.wireHub.tell(done, done)
            // Long before the minute is over for which the calls were taken.
            for _ in 0..<600
            where try await Self.calls(harness, id).contains(where: { $0.outcome?.state != "Completed" }) {
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(try await Self.calls(harness, id).map(\.outcome?.state) == ["Completed", "Completed"])
        }
    }

    @Test func aHubThatGivesNoAnswerIsLeftAloneForAWhile() async throws {
        try await Self.with { harness in
            let addresses = try (1...20).map { try Self.call("username:u\($0)") }
            harness.wireHub.fallSilent()
            try await harness.wait(for: try await Self.send(harness, to: addresses))
            for _ in 0..<600 where harness.wireHub.questions < 5 { try await Task.sleep(for: .milliseconds(50)) }
            // Forty calls are due again and again; a round of sixteen at most opens the breaker, which lets probes through.
            try await Task.sleep(for: .seconds(3))
            #expect((5...20).contains(harness.wireHub.questions))
        }
    }

    @Test func aHubThatRefusesTheKeyIsWaitedForVisibly() async throws {
        try await Self.with { harness in
            let fault = HubError(.misconfigured, "the hub refuses the token", status: 401)
            harness.wireHub.answer(.failure(fault), .failure(fault))
            let id = try await Self.send(harness)
            let waiting = try await harness.wait(for: id) { $0.reason != nil }
            #expect(waiting.reason == "the app's credentials do not work at the app's hub: the hub refuses the token")
            #expect(try await Self.calls(harness, id).map(\.state) == [.waiting, .waiting])
            let job = try await harness.wait(for: id)
            #expect(job.counts.mapValues(\.accepted) == [.apns: 1, .fcm: 1])
        }
    }

    // MARK: Jobs that are stopped

    /// A job of two places at APNs whose calls a worker has left in these states, and which is then stopped.
    private static func stopped(
        _ harness: PipelineHarness,
        isParked: Bool,
        _ leave: @Sendable (HubCallKey, HubCallKey) async throws -> Void
    ) async throws -> Job {
        let busy = HubError(.unavailable(after: .seconds(600)), "busy", status: 429)
        harness.wireHub.answer(.failure(busy), .failure(busy), .failure(busy))
        let addresses = try ["a", "b", "c"].map(Self.call)
        let id = try await Self.send(harness, to: addresses, services: [.apns])
        if isParked {
            try await harness.run([.delivery]) { try await harness.wait(for: id) { $0.reason != nil } }
        } else {
            try await harness.wait(for: id) { $0.state == .running }
        }
        try await leave(Self.key(id, .apns, 1), Self.key(id, .apns, 2))
        _ = try await harness.store.cancel(id, app: .default)
        try await harness.run([.delivery]) { try await harness.wait(for: id) }
        let job = try #require(try await harness.store.job(id, app: .default))
        expectSound(job)
        return job
    }

    @Test(arguments: [false, true]) func whatTheHubTookOfAStoppedJobCountsAsTaken(isParked: Bool) async throws {
        try await Self.with([.send, .sweeper]) { harness in
            let job = try await Self.stopped(harness, isParked: isParked) { taken, lost in
                #expect(try await Self.begin(taken, harness) == .begun)
                try await harness.store.recordHubCalls([taken], .ended(.taken(id: "n")))
                #expect(try await Self.begin(lost, harness, lasting: .milliseconds(1)) == .begun)
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(job.state == .cancelled)
            #expect(job.counts[.apns]?.accepted == 1)
            #expect(job.counts[.apns]?.failed == [.unknown: 1])
            #expect(job.counts[.apns]?.cancelled == 1)
            #expect(harness.wireHub.sends.count == (isParked ? 3 : 0))
        }
    }

    @Test(arguments: [false, true]) func aCallThatIsUnderWayWhenItsJobIsStoppedIsWaitedFor(isParked: Bool) async throws
    {
        try await Self.with([.send, .sweeper]) { harness in
            let job = try await Self.stopped(harness, isParked: isParked) { one, other in
                for (call, seconds) in [(one, 2), (other, 3)] {
                    let start = try await Self.begin(call, harness, lasting: .seconds(seconds))
                    #expect(start == .begun)
                }
                Task {
                    try await Task.sleep(for: .seconds(1))
                    try await harness.store.recordHubCalls([one], .ended(.taken(id: "n")))
                }
            }
            #expect(job.state == .cancelled)
            #expect(job.counts[.apns]?.accepted == 1)
            #expect(job.counts[.apns]?.failed == [.unknown: 1])
            #expect(job.counts[.apns]?.cancelled == 1)
        }
    }

    @Test func noCallOfAStoppedJobBegins() async throws {
        try await Self.with([.send, .sweeper]) { harness in
            let id = try await Self.send(harness)
            try await harness.wait(for: id) { $0.state == .running }
            _ = try await harness.store.cancel(id, app: .default)
            #expect(try await Self.begin(Self.key(id, .apns, 1), harness) == .withdrawn)
        }
    }

    // MARK: Lists of handles

    @Test func handlesGoTogether() async throws {
        try await Self.with { harness in
            let id = try await Self.send(harness, to: Self.devices(150) + [.call(.everyone)], services: [.apns])
            let job = try await harness.wait(for: id)
            #expect(job.counts.mapValues(\.accepted) == [.apns: 151])
            expectSound(job)
            let lists = harness.wireHub.sends.compactMap(\.listed)
            #expect(lists.reduce(0) { $0 + $1.count } == 150)
            #expect(harness.wireHub.sends.count <= 4)
            let calls = try await Self.calls(harness, id)
            #expect(calls.count == 151 && calls.allSatisfy { $0.state == .taken })
        }
    }

    @Test func aHubWhoseTierTakesNoListsIsCalledForEachHandle() async throws {
        try await Self.with { harness in
            let refusal = HubError(.misconfigured, "the tier does not offer this", status: 403)
            harness.wireHub.answer(.failure(refusal))
            let id = try await Self.send(harness, to: Self.devices(30), services: [.apns])
            let job = try await harness.wait(for: id)
            #expect(job.counts.mapValues(\.accepted) == [.apns: 30])
            expectSound(job)
            #expect(harness.wireHub.sends.compactMap(\.listed?.count) == [30] + Array(repeating: 1, count: 30))
        }
    }

    @Test func aBadHandleTakesNoOtherOfItsListAlong() async throws {
        try await Self.with { harness in
            let handles = (1...30).map { String(format: "%064x", $0) }
            harness.wireHub.refuse(handles[6], handles[29])
            let devices = handles.map { Target.device(Handle(stored: $0)) }
            let id = try await Self.send(harness, to: devices, services: [.apns])
            let job = try await harness.wait(for: id)
            #expect(job.counts[.apns]?.accepted == 28)
            #expect(job.counts[.apns]?.failed == [.rejected: 2])
            expectSound(job)
            let states = try await Self.calls(harness, id).map(\.state)
            #expect(states.count { $0 == .taken } == 28 && states.count { $0 == .refused } == 2)
        }
    }

    @Test func theListOfALostCallIsUnknown() async throws {
        try await Self.with { harness in
            harness.wireHub.answer(.failure(HubError(.unknown, "the connection broke")))
            let id = try await Self.send(harness, to: Self.devices(30), services: [.apns])
            let job = try await harness.wait(for: id)
            #expect(job.counts.mapValues(\.failed) == [.apns: [.unknown: 30]])
            expectSound(job)
            #expect(harness.wireHub.sends.count == 1)
        }
    }

    @Test func theHandlesOfACallAreOneAnswer() {
        let busy = DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "busy", status: 503)
        let statistics = SendStatistics([busy] + Array(repeating: .together(busy), count: 29), of: nil)
        #expect(statistics.answered == 0 && statistics.failed == 1)
    }

    @Test func aBreakerCountsNothingThatTheStoreSays() {
        let settled: [DeviceResult] = [.settled(.accepted), .settled(.unknown), .settled(.underWay(.seconds(1)))]
        let statistics = SendStatistics(settled, of: nil)
        #expect(statistics.answered == 0 && statistics.failed == 0)
    }

    @Test func questionsComeMoreAndMoreSeldomAndEnd() {
        #expect((1...5).map { HubCallers.wait(after: $0) } == [2, 4, 8, 16, 32].map { .seconds($0) })
        #expect(HubCallers.wait(after: 50) == .seconds(900))
        #expect(HubCallers.wait(after: 100) == nil)
    }

    @Test func oneBreakerIsForAllPlatformsOfAHub() {
        let breakers = Breakers(Breaker.Configuration(), logger: Logger(label: "test"))
        let fault = DeviceResult.retry(after: nil, scope: .sender, counts: true, reason: "503", status: 503)
        let key = Breakers.Key.hub(of: .default)
        for _ in 0..<5 {
            _ = breakers.record(SendStatistics([fault], of: nil), as: .free, key)
        }
        for pns in [PushService.apns, .fcm] {
            guard case .rejected(_, let reason) = breakers.peek(.default, pns) else {
                Issue.record("not open for \(pns)")
                continue
            }
            #expect(reason.text.hasPrefix("the app's hub fails"))
        }
    }
}

extension HubSend {
    /// Its native form; nil = it is for templates.
    fileprivate var payload: NativePayload? { if case .native(let payload) = self.form { payload } else { nil } }

    /// The handles of its list; nil = it has none.
    var listed: [Recipient]? {
        guard case .list(let list) = self.audience, case .handles(let devices) = list.devices else { return nil }
        return devices
    }
}
