import Foundation
import InstallationSupport
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

/// Faults between an app and its Azure hub in what can be asked again without harm: changes of registrations, and what became of a send.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(10)), .undisturbed) struct HubQuestionFaultsTests {
    enum Fault: CaseIterable {
        case outOfOrder, throttled, resetBefore, resetAfter, silence

        fileprivate var met: FaultyProxy.Fault {
            switch self {
            case .outOfOrder: .answer(.answer(503))
            case .throttled: .answer(.answer(429, [("Retry-After", "1")]))
            case .resetBefore: .answer(.cut(after: []))
            case .resetAfter: .loseAnswer(.cut(after: []))
            case .silence: .loseAnswer(.silence)
            }
        }
    }

    private static func telemetry(_ proxy: FaultyProxy) -> String { "GET /\(proxy.hub.name)/messages/" }

    /// A call once the hub has said its last word, or never will; a hub that is silent is waited for longer than anything else.
    private static func told(_ job: OtherApp.Job, _ app: OtherApp) async throws -> OtherApp.Job.Hub {
        for _ in 0..<600 {
            let hub = try #require(try await app.job(job.id).hub)
            if hub.calls.allSatisfy({ $0.telemetry != "pending" }) { return hub }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw EndToEndInstallation.Failure(description: "the hub does not tell")
    }

    @Test(arguments: Fault.allCases) func aChangeIsMadeAgainUntilItIsThere(_ fault: Fault) async throws {
        try await HubKind.withProxy { app, proxy, _ in
            let (device, text) = (Device(), Device.unique("there"))
            // The user's name is in the change, and in nothing else.
            proxy.meet(fault.met, with: device.user)
            let body = #"{"service":"apns","handle":"\#(device.handle)","user":"\#(device.user)"}"#
            var answer = try await app.call("POST", "/registrations", body: body)
            // A hub that is silent outlasts the wait: the change goes on, and to repeat it does no harm.
            for _ in 0..<30 where answer.status == 503 {
                #expect(answer.headers["retry-after"] != nil)
                try await Task.sleep(for: .seconds(1))
                answer = try await app.call("POST", "/registrations", body: body)
            }
            #expect([200, 201].contains(answer.status), "\(String(decoding: answer.body, as: UTF8.self))")
            #expect(proxy.calls(with: device.user).count >= 2)
            let list = "/api/registrations?user=\(device.user)&state=live"
            let there = try await app.installation.asBackend("GET", list)
            let ids = String(decoding: there.body, as: UTF8.self).matches(of: /"id":"/)
            #expect(ids.count == 1, "\(String(decoding: there.body, as: UTF8.self))")
            HubKind.azure.expectAccepted(try await app.sent(text, to: device))
            try await app.expect(1, of: text, at: device)
        }
    }

    @Test(arguments: Fault.allCases) func whatBecameOfASendIsAskedAgain(_ fault: Fault) async throws {
        try await HubKind.withProxy { app, proxy, _ in
            let (device, text) = (Device(), Device.unique("asked"))
            _ = try await app.register(device)
            proxy.meet(fault.met, with: Self.telemetry(proxy))
            let job = try await app.sent(text, to: device)
            HubKind.azure.expectAccepted(job)
            let call = try #require(try await Self.told(job, app).calls.first)
            #expect(call.telemetry == "complete" && call.outcome == "Completed" && call.devices == ["Success": 1])
            #expect(proxy.calls(with: Self.telemetry(proxy)).count >= 2)
            #expect(app.pushes(of: text, to: device).count == 1)
        }
    }

    /// A tier below Standard answers 403 to the question.
    @Test func aTierWithoutTelemetryIsSaidSo() async throws {
        try await HubKind.withProxy { app, proxy, _ in
            let device = Device()
            _ = try await app.register(device)
            proxy.meet(.answer(.answer(403)), with: Self.telemetry(proxy))
            let hub = try await Self.told(try await app.sent(Device.unique("untold"), to: device), app)
            #expect(hub.calls.map(\.telemetry) == ["not-offered"] && hub.calls.map(\.outcome) == [nil])
            #expect(hub.note?.hasSuffix("the tier of this hub does not offer it") == true, "\(hub)")
            #expect(proxy.calls(with: Self.telemetry(proxy)).count == 1)
        }
    }
}
