import Foundation
import InstallationSupport
import PushlineSimulator
import Testing
import Undisturbed

/// An app whose hub is an Azure hub: `pushline-hub` of the same installation, over TLS (rule 18).
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(5)), .undisturbed) struct AzureHubTests {
    private static func token(_ number: Int) -> String { String(format: "%064x", number + 0xABC000) }

    @Test func anAppLivesAtItsHubAndLosesNothingInACrash() async throws {
        let installation = try #require(EndToEndInstallation.current)
        let shop = try await OtherApp("shop", before: try await installation.startHub(), of: installation)
        try await Self.registrationsLiveThere(shop)
        for point in ["hub.submitting", "hub.answered"] { try await Self.survives(point, shop) }
    }

    /// Registers, changes, sends to and deletes devices: all of it is found at the hub.
    private static func registrationsLiveThere(_ shop: OtherApp) async throws {
        let installation = shop.installation
        let body = #"{"service":"apns","handle":"\#(Self.token(1))","user":"zoe","tags":["news"]}"#
        let id = try await shop.register(Self.token(1), user: "zoe", tags: ["news"])
        let again = try await shop.call("POST", "/registrations", body: body)
        #expect(try again.decoded(OtherApp.Accepted.self).id == id)
        let there = try await installation.asBackend("GET", "/api/registrations?user=zoe")
        let text = String(decoding: there.body, as: UTF8.self)
        #expect(text.contains(id) && text.contains("news"), "\(text)")

        let job = try await shop.finished(try await shop.send("hello", to: #"{"user":"zoe"}"#))
        #expect(job.state == "completed")
        #expect(job.totals.targets == 1 && job.totals.accepted == 1)
        try await eventually("the device has it") {
            shop.installation.simulator.received().map(\.token) == [Self.token(1)]
        }
        try await eventually("the hub has told what became of it") {
            try await shop.job(job.id).hub?.calls.first?.outcome == "Completed"
        }
        let call = try #require(try await shop.job(job.id).hub?.calls.first)
        #expect(call.telemetry == "complete")
        #expect(call.state == "taken" && call.notification != nil && call.devices == ["Success": 1])

        let put = try await shop.call("PUT", "/registrations/\(id)", body: body.replacing("news", with: "late"))
        #expect(put.status == 200, "\(String(decoding: put.body, as: UTF8.self))")
        let late = try await installation.asBackend("GET", "/api/registrations?tag=late")
        #expect(String(decoding: late.body, as: UTF8.self).contains(id))
        #expect(try await shop.call("DELETE", "/registrations/\(id)").status == 204)
        let left = try await installation.asBackend("GET", "/api/registrations?user=zoe&state=live")
        #expect(!String(decoding: left.body, as: UTF8.self).contains(id))
    }

    /// Kills the delivery worker in a call: the call is unknown, and not made again.
    private static func survives(_ point: String, _ shop: OtherApp) async throws {
        let installation = shop.installation
        let user = point.replacing(".", with: "-")
        let token = Self.token(point.count)
        _ = try await shop.register(token, user: user)
        _ = try await installation.terminate("delivery-worker")
        try await installation.start("delivery-worker", environment: ["PUSHLINE_CRASH_AT": point])
        let id = try await shop.send("hello", to: #"{"user":"\#(user)"}"#)
        try await eventually("the worker dies at \(point)") { await installation.hasEnded("delivery-worker") }
        try await installation.start("delivery-worker")
        let job = try await shop.finished(id)
        #expect(job.totals.targets == 1 && job.totals.failed == ["unknown": 1], "\(job)")
        #expect(job.totals.targets == job.totals.outcomes)
        #expect(job.hub?.calls.map(\.state) == ["unknown"])
        let pushes = installation.simulator.received().count { $0.token == token }
        #expect(pushes == (point == "hub.submitting" ? 0 : 1))
    }
}
