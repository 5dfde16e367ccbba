import Foundation
import Hub
import PushModel
import Store
import Testing
import Undisturbed

/// What any hub must do: the embedded one, and a client of a served one.
@Suite("The contract of any hub", .timeLimit(.minutes(2)), .undisturbed)
struct NotificationHubContract {
    private static let token = String(repeating: "cd", count: 32)
    private static let other = String(repeating: "ef", count: 32)

    // MARK: Registrations

    private static func upsert(_ token: String, tags: [String] = []) throws -> RegisterRequest.Upsert {
        let tags = try tags.map { try Tag($0, .folded) }
        return RegisterRequest.Upsert(pns: .apns, handle: try Handle(token, pns: .apns), tags: tags)
    }

    @Test(arguments: AnyHub.Kind.allCases) func aRegistrationIsThereUntilItIsDeleted(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            let id = try #require(RegistrationID("1-2-3"))
            let change = RegisterRequest.upsert(id, try Self.upsert(Self.token, tags: ["news"]))
            // A repeat has the same result.
            for _ in 0..<2 { #expect(try await hub.register(change, by: "ann") == .done) }
            let found = try #require(try await hub.store.registration(id, app: .default))
            #expect(found.state == .live && found.user?.key == "ann")
            let news = try Tag("news", .folded)
            #expect(found.tags.contains(news))
            #expect(try await hub.register(.delete(id), by: "ann") == .done)
            #expect(try await hub.store.registration(id, app: .default)?.state != .live)
        }
    }

    @Test(arguments: AnyHub.Kind.allCases) func aDeviceKeepsItsId(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            let candidate = try #require(RegistrationID("7-8-9"))
            let change = RegisterRequest.create(candidate: candidate, try Self.upsert(Self.token))
            guard case .issued(let id)? = try await hub.register(change, by: "ann") else {
                Issue.record("no id was issued")
                return
            }
            let again = RegisterRequest.create(candidate: .random(), try Self.upsert(Self.token, tags: ["a"]))
            #expect(try await hub.register(again, by: "ann") == .issued(id))
        }
    }

    @Test(arguments: AnyHub.Kind.allCases) func nobodyChangesTheRegistrationOfAnother(_ kind: AnyHub.Kind) async throws
    {
        try await AnyHub.run(kind) { hub in
            let id = try #require(RegistrationID("1-2-3"))
            let (own, foreign) = (try Self.upsert(Self.token), try Self.upsert(Self.other))
            #expect(try await hub.register(.upsert(id, own), by: "ann") == .done)
            #expect(try await hub.register(.upsert(id, foreign), by: "ben") == .notFound)
            #expect(try await hub.register(.delete(id), by: "ben") == .notFound)
            #expect(try await hub.store.registration(id, app: .default)?.state == .live)
        }
    }

    // MARK: Sends

    private static func native() throws -> HubSend.Form {
        let kind = try #require(PushService.apns.descriptor.kinds.first { $0.name == "alert" })
        return .native(NativePayload(kind: kind, body: Array(#"{"aps":{"alert":"x"}}"#.utf8)))
    }

    private static func list(_ tokens: [String]) throws -> HubSend.Audience {
        .list(
            RecipientList(
                handles: try tokens.enumerated().map { index, token in
                    let handle = try Handle(token, pns: .apns)
                    return Recipient(place: index + 1, pns: .apns, handle: handle, reference: nil)
                }
            )
        )
    }

    /// The send that a hub made of one that it took.
    private static func taken(_ send: HubSend, by hub: AnyHub) async throws -> (job: Job, send: SendRequest) {
        let id = try #require(try await hub.hub.take(send).flatMap { JobID($0) })
        let job = try #require(try await hub.store.job(id, app: .default))
        guard case .send(let request) = job.work else { throw InvalidValue("the job is no send") }
        return (job, request)
    }

    @Test(arguments: AnyHub.Kind.allCases) func aSendHasItsAudience(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            let form = try Self.native()
            let everyone = try await Self.taken(HubSend(app: .default, form, to: .everyone), by: hub)
            #expect(everyone.send.audience == .all)
            #expect(everyone.send.platforms == [.apns])
            let expression = try TagExpression(parsing: "(a || b) && !c", .folded)
            let some = try await Self.taken(HubSend(app: .default, form, to: .expression(expression)), by: hub)
            guard case .tags(let tags) = some.send.audience else {
                Issue.record("it is for \(some.send.audience)")
                return
            }
            #expect(tags.parenthesizedText == expression.parenthesizedText)
            for tokens in [[Self.token], [Self.token, Self.other]] {
                let listed = try await Self.taken(HubSend(app: .default, form, to: try Self.list(tokens)), by: hub)
                #expect(listed.send.audience.listed == tokens.count)
            }
        }
    }

    @Test(arguments: AnyHub.Kind.allCases) func aSendKeepsItsForm(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            let native = try await Self.taken(HubSend(app: .default, try Self.native(), to: .everyone), by: hub)
            guard case .native(let content) = native.send.content else {
                Issue.record("it is \(native.send.content)")
                return
            }
            #expect(content.forms.map { String(decoding: $0.body, as: UTF8.self) } == [#"{"aps":{"alert":"x"}}"#])
            let properties = Content.Properties(["title": "t", "n": "1"])
            let template = try await Self.taken(HubSend(app: .default, .template(properties), to: .everyone), by: hub)
            #expect(template.send.content == .template(properties))
        }
    }

    @Test(arguments: AnyHub.Kind.allCases) func aRepetitionIsOneSend(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            let tracking = UUID().uuidString.lowercased()
            let send = HubSend(app: .default, try Self.native(), to: .everyone, trackingID: tracking)
            let first = try #require(try await hub.hub.take(send))
            #expect(try await hub.hub.take(send) == first)
            let another = HubSend(app: .default, try Self.native(), to: .everyone, trackingID: "\(tracking)-2")
            #expect(try await hub.hub.take(another) != first)
        }
    }

    @Test(arguments: AnyHub.Kind.allCases) func aSendMayBeginLater(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            var send = HubSend(app: .default, try Self.native(), to: .everyone)
            let start = Timestamp.now.advanced(by: .seconds(3600))
            send.startsAt = start
            let job = try await Self.taken(send, by: hub).job
            #expect(job.state == .scheduled)
            let distance = try #require(job.startsAt).duration(to: start)
            // The wire has whole seconds.
            #expect(distance >= .zero && distance < .seconds(1))
            #expect(try await Self.report(job, of: hub)?.state == .scheduled)
        }
    }

    // MARK: What became of sends

    private static func report(_ job: Job, of hub: AnyHub) async throws -> HubReport? {
        guard case .known(let report) = try await hub.hub.outcome(of: "\(job.id)", app: .default) else { return nil }
        return report
    }

    @Test(arguments: AnyHub.Kind.allCases) func aHubSaysWhatBecameOfASend(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            let job = try await Self.taken(HubSend(app: .default, try Self.native(), to: .everyone), by: hub).job
            let fresh = try #require(try await Self.report(job, of: hub))
            #expect(fresh.state == .enqueued && !fresh.state.isFinal && fresh.devices.isEmpty)
            _ = try await hub.store.cancel(job.id, app: .default)
            let ended = try #require(try await Self.report(job, of: hub))
            #expect(ended.state == .canceled && ended.state.isFinal)
        }
    }

    @Test(arguments: AnyHub.Kind.allCases) func aReportTellsOfTheSend(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            let expression = try TagExpression(parsing: "a && b", .folded)
            let send = HubSend(app: .default, try Self.native(), to: .expression(expression))
            let taken = try await Self.taken(send, by: hub)
            let report = try #require(try await Self.report(taken.job, of: hub))
            guard case .tags(let tags) = taken.send.audience else {
                Issue.record("it is for \(taken.send.audience)")
                return
            }
            #expect(report.accepted == taken.job.accepted && report.started == nil && report.ended == nil)
            #expect(report.body == #"{"aps":{"alert":"x"}}"# && report.tags == tags.description)
            #expect(report.services == [.apns] && !report.isForTemplates && report.counts.isEmpty)
            _ = try await hub.store.cancel(taken.job.id, app: .default)
            let ended = try #require(try await Self.report(taken.job, of: hub))
            let finished = try await hub.store.job(taken.job.id, app: .default)?.finished
            #expect(ended.ended == finished && finished != nil)
        }
    }

    @Test(arguments: AnyHub.Kind.allCases) func ofWhatItDidNotTakeAHubSaysNothing(_ kind: AnyHub.Kind) async throws {
        try await AnyHub.run(kind) { hub in
            for id in ["\(JobID.make())", "nothing"] {
                let outcome = try await hub.hub.outcome(of: id, app: .default)
                #expect(outcome == .notYet)
            }
        }
    }
}
