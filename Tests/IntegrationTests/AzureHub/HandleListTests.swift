import Foundation
import InstallationSupport
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

/// Sends to handles of an app whose hub, as an Azure hub, is a `pushline-hub`: many go in one call.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(5)), .undisturbed) struct HandleListTests {
    private static let tokens = (1...40).map { _ in
        (UUID().uuidString + UUID().uuidString).replacing("-", with: "").lowercased()
    }

    private static func send(_ text: String, by app: OtherApp) async throws -> OtherApp.Job {
        let handles = Self.tokens.map { #"{"service":"apns","handle":"\#($0)"}"# }.joined(separator: ",")
        return try await app.finished(try await app.send(text, to: #"{"handles":[\#(handles)]}"#))
    }

    /// The devices that got a text, one for each push.
    private static func reached(by text: String, _ installation: EndToEndInstallation) -> [String] {
        installation.simulator.received().filter { $0.body.contains(text) }.map(\.token).sorted()
    }

    @Test func handlesGoToTheHubTogether() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let hub = try await installation.startHub(as: "lists")
        try await FaultyProxy.run(before: hub) { proxy, port in
            let app = try await OtherApp("lists", before: hub, through: port, of: installation)
            let all = Self.tokens.sorted()

            let taken = try await Self.send("all-together", by: app)
            #expect(taken.totals.targets == 40 && taken.totals.accepted == 40, "\(taken)")
            let calls = proxy.calls(with: "all-together")
            #expect(calls.count == 1 && calls.allSatisfy { $0.target.contains("/messages/$batch?direct") })
            try await eventually("all get it") { Self.reached(by: "all-together", installation) == all }
            let known = Set((taken.hub?.calls ?? []).map(\.notification))
            #expect(taken.hub?.calls.count == 40 && known.count == 1 && !known.contains(nil))

            // What was surely not taken goes once more, and what may have been does not.
            proxy.meet(.answer(.answer(503)), with: "once-more")
            let again = try await Self.send("once-more", by: app)
            #expect(again.totals.accepted == 40, "\(again)")
            #expect(proxy.calls(with: "once-more").count == 2)
            try await eventually("all get it") { Self.reached(by: "once-more", installation) == all }

            proxy.meet(.loseAnswer(.cut(after: [])), with: "lost-answer")
            let lost = try await Self.send("lost-answer", by: app)
            #expect(lost.totals.accepted == 0 && lost.totals.targets == 40 && lost.totals.outcomes == 40, "\(lost)")
            #expect(lost.hub?.calls.allSatisfy { $0.state == "unknown" } == true, "\(lost)")
            #expect(proxy.calls(with: "lost-answer").count == 1)
            try await eventually("all get it") { Self.reached(by: "lost-answer", installation) == all }
        }
        #expect(try await installation.terminate("lists") == 0)
    }
}
