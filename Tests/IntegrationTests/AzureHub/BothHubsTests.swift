import Foundation
import InstallationSupport
import NIOHTTP1
import PushModel
import PushlineSimulator
import RawHTTP
import Testing

/// The same over an app with the embedded hub and over one whose hub, as an Azure hub, is a `pushline-hub`; and faults between
/// the app and that hub (rule 18).
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(10))) struct BothHubsTests {
    enum Hub: CaseIterable { case embedded, azure }

    /// Runs a body with an app of this kind.
    private static func withApp(
        _ hub: Hub,
        _ body: (OtherApp) async throws -> Void
    ) async throws {
        switch hub {
        case .embedded:
            let installation = try #require(EndToEndInstallation.current)
            try await body(OtherApp(Self.unique("own"), try installation.simulator.appSpec, of: installation))
        case .azure: try await Self.withProxy { app, _, _ in try await body(app) }
        }
    }

    /// Runs a body with an app before a hub of its own, and with what is between them and its port.
    private static func withProxy(_ body: (OtherApp, FaultyProxy, Int) async throws -> Void) async throws {
        let installation = try #require(EndToEndInstallation.current)
        let name = Self.unique("shop")
        let hub = try await installation.startHub(as: name)
        try await FaultyProxy.run(before: hub) { proxy, port in
            try await body(OtherApp(name, before: hub, through: port, of: installation), proxy, port)
        }
        #expect(try await installation.terminate(name) == 0)
    }

    private static func unique(_ word: String) -> String { "\(word)-\(UUID().uuidString.prefix(8).lowercased())" }

    /// A device of a user of its own.
    private struct Device {
        let user = BothHubsTests.unique("user")
        let token = (UUID().uuidString + UUID().uuidString).replacing("-", with: "").lowercased()
    }

    /// The pushes of a text that came to a device.
    private static func pushes(of text: String, to device: Device, _ app: OtherApp) -> [ReceivedPush] {
        app.installation.simulator.received().filter { $0.token == device.token && $0.body.contains(text) }
    }

    /// Shows that a device gets a text just so often, also until a later send has come.
    private static func expect(
        _ count: Int,
        of text: String,
        at device: Device,
        _ app: OtherApp
    ) async throws {
        try await eventually("\(text) comes") { Self.pushes(of: text, to: device, app).count >= count }
        let later = Self.unique("later")
        let job = try await app.finished(try await app.send(later, to: #"{"user":"\#(device.user)"}"#))
        #expect(job.state == "completed", "\(job)")
        try await eventually("\(later) comes") { !Self.pushes(of: later, to: device, app).isEmpty }
        #expect(Self.pushes(of: text, to: device, app).map(\.status) == Array(repeating: 200, count: count))
    }

    private static func expectAccepted(_ job: OtherApp.Job, _ hub: Hub) {
        // An Azure hub has queued the send when it answers: its last word is not awaited.
        #expect(job.state == "completed" && job.hubState == (hub == .azure ? "Enqueued" : "Completed"), "\(job)")
        #expect(job.totals.targets == 1 && job.totals.accepted == 1 && job.totals.outcomes == 1, "\(job)")
        #expect(job.hub?.calls.map(\.state) == (hub == .azure ? ["taken"] : nil), "\(job)")
    }

    // MARK: The same over both

    @Test(arguments: Hub.allCases) func aSendArrivesOnce(_ hub: Hub) async throws {
        try await Self.withApp(hub) { app in
            let (device, tag) = (Device(), Self.unique("tag"))
            let id = try await app.register(device.token, user: device.user, tags: [tag])
            #expect(try await app.register(device.token, user: device.user, tags: [tag]) == id)
            let audiences = [
                #"{"user":"\#(device.user)"}"#, #"{"tag":"\#(tag)"}"#, #"{"all":true}"#,
                #"{"handles":[{"pns":"apns","handle":"\#(device.token)"}]}"#,
            ]
            for audience in audiences {
                let text = Self.unique("hello")
                Self.expectAccepted(try await app.finished(try await app.send(text, to: audience)), hub)
                try await Self.expect(1, of: text, at: device, app)
            }
        }
    }

    @Test(arguments: Hub.allCases) func aScheduledSendWaitsForItsTime(_ hub: Hub) async throws {
        try await Self.withApp(hub) { app in
            let (device, text) = (Device(), Self.unique("late"))
            _ = try await app.register(device.token, user: device.user)
            let at = Timestamp.now.advanced(by: .seconds(2))
            let id = try await app.send(text, to: #"{"user":"\#(device.user)"}"#, at: at)
            Self.expectAccepted(try await app.finished(id), hub)
            try await Self.expect(1, of: text, at: device, app)
            let came = try #require(Self.pushes(of: text, to: device, app).first).time.timeIntervalSince1970
            // The simulator's times are of milliseconds, too.
            #expect((came * 1000).rounded() >= Double(at.milliseconds))
        }
    }

    @Test(arguments: Hub.allCases) func aCancelledSendNeverComes(_ hub: Hub) async throws {
        try await Self.withApp(hub) { app in
            let (device, text) = (Device(), Self.unique("never"))
            _ = try await app.register(device.token, user: device.user)
            let tomorrow = Timestamp.now.advanced(by: .seconds(86_400))
            let id = try await app.send(text, to: #"{"user":"\#(device.user)"}"#, at: tomorrow)
            #expect(try await app.job(id).state == "scheduled")
            let answer = try await app.call("DELETE", "/jobs/\(id)")
            #expect([200, 202].contains(answer.status), "\(String(decoding: answer.body, as: UTF8.self))")
            let job = try await app.finished(id)
            #expect(job.state == "cancelled", "\(job)")
            #expect(job.totals.accepted == 0 && job.totals.targets == job.totals.outcomes, "\(job)")
            try await Self.expect(0, of: text, at: device, app)
        }
    }

    // MARK: Faults between an app and its Azure hub

    /// What a hub has surely not taken.
    enum Refusal: CaseIterable {
        case outOfOrder, throttled, expiredToken

        fileprivate var reply: RawServer.Reply {
            switch self {
            case .outOfOrder: .answer(503)
            case .throttled: .answer(429, [("Retry-After", "1")])
            // A token so young is made anew only where the clocks differ.
            case .expiredToken: .answer(401, [("Date", Self.date(.now + 7200))])
            }
        }

        private static func date(_ date: Date) -> String {
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = .gmt
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            return format.string(from: date)
        }
    }

    @Test(arguments: Refusal.allCases) func whatWasRefusedIsSentAgain(_ refusal: Refusal) async throws {
        try await Self.withProxy { app, proxy, _ in
            let (device, text) = (Device(), Self.unique("again"))
            _ = try await app.register(device.token, user: device.user)
            proxy.meet(.answer(refusal.reply), with: text)
            let job = try await app.finished(try await app.send(text, to: #"{"user":"\#(device.user)"}"#))
            Self.expectAccepted(job, .azure)
            try await Self.expect(1, of: text, at: device, app)
            let calls = proxy.calls(with: text)
            #expect(calls.count == 2)
            // One notification, whichever call brings it; a token that has ended is not shown again.
            #expect(Set(calls.map { $0.headers.first(name: "TrackingId") }).count == 1)
            #expect(
                Set(calls.map { $0.headers.first(name: "Authorization") }).count == (refusal == .expiredToken ? 2 : 1)
            )
        }
    }

    @Test func aHubThatWasNotThereGetsTheSendLater() async throws {
        try await Self.withProxy { app, proxy, port in
            let (device, text) = (Device(), Self.unique("there"))
            // Nobody listens at this port.
            try app.point(at: 1, proxy.hub)
            let id = try await app.send(text, to: #"{"handles":[{"pns":"apns","handle":"\#(device.token)"}]}"#)
            try await eventually("the call waits") { try await app.job(id).hub?.calls.first?.state == "waiting" }
            try app.point(at: port, proxy.hub)
            Self.expectAccepted(try await app.finished(id), .azure)
            _ = try await app.register(device.token, user: device.user)
            try await Self.expect(1, of: text, at: device, app)
            #expect(proxy.calls(with: text).count == 1)
        }
    }

    /// What a hub may have taken: nobody but the test knows.
    enum Loss: CaseIterable {
        case resetBefore, resetAfter, silence

        fileprivate var fault: FaultyProxy.Fault {
            switch self {
            case .resetBefore: .answer(.cut(after: []))
            case .resetAfter: .loseAnswer(.cut(after: []))
            case .silence: .loseAnswer(.silence)
            }
        }
    }

    @Test(arguments: Loss.allCases) func whatMayHaveBeenTakenIsUnknownAndNotSentAgain(_ loss: Loss) async throws {
        try await Self.withProxy { app, proxy, _ in
            let (device, text) = (Device(), Self.unique("once"))
            _ = try await app.register(device.token, user: device.user)
            proxy.meet(loss.fault, with: text)
            let job = try await app.finished(try await app.send(text, to: #"{"user":"\#(device.user)"}"#))
            #expect(job.totals.targets == 1 && job.totals.outcomes == 1, "\(job)")
            #expect(job.totals.failed == ["unknown": 1] && job.hub?.calls.map(\.state) == ["unknown"], "\(job)")
            try await Self.expect(loss == .resetBefore ? 0 : 1, of: text, at: device, app)
            #expect(proxy.calls(with: text).count == 1)
        }
    }
}
