import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing

// An app with two bundle ids at APNs and two projects at FCM: a simulator for each.
extension EndToEndTests {
    private static let watchTopic = "com.example.pushline.watch"

    /// Runs a body with an app that has the credential `watch` at both services, for a simulator of its own.
    private func withWatch(_ body: (Simulator) async throws -> Void) async throws {
        let installation = try self.installation
        try await withSimulator(SimulatorConfiguration(bundleIDs: [Self.watchTopic])) { watch in
            var spec = try installation.simulator.appSpec
            let (name, declared) = (try CredentialName("watch"), try watch.appSpec)
            for pns in [PushService.apns, .fcm] { spec.credentials[pns, name] = declared.credentials[pns] }
            try await self.apply(spec)
            try await body(watch)
            try await self.apply(try installation.simulator.appSpec)
        }
    }

    /// Declares the app, and waits until all programs know.
    private func apply(_ spec: AppSpec) async throws {
        try await self.installation.apply(spec)
        try await Task.sleep(for: .milliseconds(2500))
    }

    /// Registers devices of many users, of which every other one is a watch.
    private func importDevices(_ pns: String, _ count: Int, tag: String) async throws {
        let lines = (0..<count).map { number in
            let handle = Self.handle(number, pns, tag: tag)
            let credential = number.isMultiple(of: 2) ? "" : #","credential":"watch""#
            return
                #"{"service":"\#(pns)","handle":"\#(handle)","user":"user\#(number)","tags":["\#(tag)"]\#(credential)}"#
        }
        try await self.installation.importRegistrations(lines)
    }

    private static func handle(_ number: Int, _ pns: String, tag: String) -> String {
        pns == "fcm"
            ? "\(number):\(tag)"
            : tag.utf8.map { String(format: "%02x", $0) }.joined() + String(format: "%050x", number)
    }

    /// The devices that a simulator has taken pushes for, each as often as it has.
    private static func accepted(_ simulator: Simulator, _ pns: PushService, since: Int = 0) -> [String] {
        simulator.received(pns: pns, since: since).filter { $0.status == 200 }.map(\.token)
    }

    @Test(arguments: ["apns", "fcm"]) func devicesAreReachedWithTheirCredentials(pns: String) async throws {
        let installation = try self.installation
        let (devices, tag) = (5000, "two-\(pns)")
        let service = try #require(PushService(rawValue: pns))
        try await self.withWatch { watch in
            try await self.importDevices(pns, devices, tag: tag)
            let handles = (0..<devices).map { Self.handle($0, pns, tag: tag) }
            let before = installation.simulator.counts.next
            let id = try await self.send(#"{"to": {"tag": "\#(tag)"}, "body": "to both"}"#)
            // What a crashed worker had begun comes again, and everything is counted once.
            try await Task.sleep(for: .milliseconds(100))
            try await installation.kill("delivery-worker")
            try await installation.start("delivery-worker")
            let job = try await installation.finished(id, within: .seconds(120))
            #expect(job.state == "completed")
            #expect(job.totals.targets == devices && job.totals.accepted == devices && job.totals.outcomes == devices)
            let phones = Self.accepted(installation.simulator, service, since: before)
            let watches = Self.accepted(watch, service)
            #expect(Set(phones) == Set(handles.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)))
            #expect(Set(watches) == Set(handles.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map(\.element)))

            // A small send, and one to handles.
            let user = try await self.send(
                #"{"to": {"users": ["user1", "user2"]}, "services": ["\#(pns)"], "body": "b"}"#
            )
            #expect(try await installation.finished(user).totals.failed.isEmpty)
            let listed = #"{"service":"\#(pns)","handle":"\#(handles[1])","credential":"watch"}"#
            let direct = try await self.send(#"{"to": {"handles": [\#(listed)]}, "body": "b"}"#)
            #expect(try await installation.finished(direct).totals.accepted == 1)
            #expect(Self.accepted(watch, service).filter { $0 == handles[1] }.count >= 3)
        }
    }

    @Test func aFailingCredentialHoldsUpItsOwnDevices() async throws {
        let installation = try self.installation
        let (devices, tag) = (3000, "sick-watch")
        try await self.withWatch { watch in
            try await self.importDevices("apns", devices, tag: tag)
            watch.inject(SimulatorFault(.answer(status: 503), pns: .apns))
            let id = try await self.send(#"{"to": {"tag": "\#(tag)"}, "body": "to all"}"#)
            try await eventually("the phones have theirs, and the job says what the watches wait for") {
                let job = try await installation.job(id)
                return job.totals.accepted == devices / 2 && job.reason?.contains("APNs (credential watch)") == true
            }
            // Sends to phones pass, however many there are.
            for number in 0..<5 {
                let phone = #"{"service":"apns","handle":"\#(Self.handle(0, "apns", tag: tag))"}"#
                let other = try await self.send(#"{"to": {"handles": [\#(phone)]}, "body": "b \#(number)"}"#)
                #expect(try await installation.finished(other).totals.accepted == 1)
            }
            #expect(try await !installation.job(id).isFinal)
            watch.clearFaults()
            let job = try await installation.finished(id, within: .seconds(180))
            #expect(job.totals.targets == devices && job.totals.accepted == devices && job.totals.outcomes == devices)
            #expect(Set(Self.accepted(watch, .apns)).count == devices / 2)
        }
    }

    @Test func devicesOfARemovedCredentialFailAndStayRegistered() async throws {
        struct Count: Decodable { let total: Int }
        let installation = try self.installation
        let (devices, tag) = (20, "removed")
        try await self.withWatch { _ in
            try await self.importDevices("fcm", devices, tag: tag)
            try await self.apply(try installation.simulator.appSpec)
            let line = #"{"service":"fcm","handle":"late:\#(tag)","credential":"watch"}"#
            let refused = try await installation.asBackend("PUT", "/api/registrations/late", body: line)
            #expect(refused.status == 400)
            let id = try await self.send(#"{"to": {"tag": "\#(tag)"}, "body": "to all"}"#)
            let job = try await installation.finished(id)
            #expect(job.totals.accepted == devices / 2 && job.totals.failed == ["misconfigured": devices / 2])
            let body = #"{"to": {"tag": "\#(tag)"}}"#
            let answer = try await installation.asBackend("POST", "/api/sends/count", body: body)
            #expect(try answer.decoded(Count.self).total == devices)
        }
    }
}
