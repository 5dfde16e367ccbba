import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import Testing

/// The two kinds of hub that an app may have: its own, and another `pushline-hub` in the place of an Azure hub.
enum HubKind: CaseIterable {
    case embedded, azure

    /// Runs a body with an app of this kind, whose Azure hub is given sends for those services.
    func withApp(_ platforms: [PushService] = [.apns], _ body: (OtherApp) async throws -> Void) async throws {
        switch self {
        case .embedded:
            let installation = try #require(EndToEndInstallation.current)
            try await body(OtherApp(Device.unique("own"), try installation.simulator.appSpec, of: installation))
        case .azure: try await Self.withProxy(platforms) { app, _, _ in try await body(app) }
        }
    }

    /// Runs a body with an app before a hub of its own, and with what is between them and its port.
    ///
    /// - Parameters:
    ///   - platforms: The services that the hub is given sends for.
    ///   - environment: Further settings of the hub.
    ///   - body: Is given the app.
    /// - Throws: What the body throws.
    static func withProxy(
        _ platforms: [PushService] = [.apns],
        environment: [String: String] = [:],
        _ body: (OtherApp, FaultyProxy, Int) async throws -> Void
    ) async throws {
        let installation = try #require(EndToEndInstallation.current)
        let name = Device.unique("shop")
        let hub = try await installation.startHub(as: name, environment: environment)
        try await FaultyProxy.run(before: hub) { proxy, port in
            let app = try await OtherApp(name, before: hub, through: port, platforms: platforms, of: installation)
            try await body(app, proxy, port)
        }
        #expect(try await installation.terminate(name) == 0)
    }

    /// Registers a device where its sends find it.
    ///
    /// A channel of the simulator is none of Microsoft's hosts, which alone an app with an Azure hub takes: it is registered at the hub.
    func register(_ device: Device, tags: [String], by app: OtherApp) async throws {
        guard self == .azure, device.pns == .wns else {
            _ = try await app.register(device, tags: tags)
            return
        }
        let tags = tags.map { "\"\($0)\"" }.joined(separator: ",")
        let body =
            #"{"service":"wns","handle":"\#(device.handle)","user":"\#(device.user)","tags":[\#(tags)]}"#
        let answer = try await app.installation.asBackend("POST", "/api/registrations", body: body)
        #expect([200, 201].contains(answer.status), "\(String(decoding: answer.body, as: UTF8.self))")
    }

    /// Shows that all that a send was divided into was accepted: devices, or calls of the Azure hub.
    func expectAccepted(_ job: OtherApp.Job, _ count: Int = 1) {
        // An Azure hub has queued the send when it answers: its last word is not awaited.
        #expect(job.state == "completed", "\(job)")
        #expect(
            job.totals.targets == count && job.totals.accepted == count && job.totals.outcomes == count,
            "\(job)"
        )
        let calls = Array(repeating: "taken", count: count)
        #expect(job.hub?.calls.map(\.state) == (self == .azure ? calls : nil), "\(job)")
        #expect(job.hub?.note?.hasPrefix("the hub took") == (self == .azure ? true : nil), "\(job)")
    }

    /// Shows that a send found nobody.
    ///
    /// An Azure hub, which takes a call for whomever it may reach, says so later.
    func expectNobody(_ job: OtherApp.Job, _ app: OtherApp) async throws {
        guard self == .azure else {
            #expect(job.state == "completed" && job.totals.targets == 0, "\(job)")
            return
        }
        self.expectAccepted(job)
        try await eventually("the hub has found nobody") {
            try await app.job(job.id).hub?.calls.first?.outcome == "NoTargetFound"
        }
    }
}

/// A device of a user of its own.
struct Device {
    let user = Device.unique("user")
    let pns: PushService
    let handle: String

    /// Of APNs.
    init() {
        self.pns = .apns
        self.handle = (UUID().uuidString + UUID().uuidString).replacing("-", with: "").lowercased()
    }

    /// One that the simulator of the service has.
    init(at pns: PushService, of simulator: Simulator) throws {
        self.pns = pns
        self.handle = try simulator.device(Self.unique("device"), of: pns)
    }

    static func unique(_ word: String) -> String { "\(word)-\(UUID().uuidString.prefix(8).lowercased())" }
}

extension OtherApp {
    func register(_ device: Device, tags: [String] = []) async throws -> String {
        try await self.register(device.handle, at: device.pns, user: device.user, tags: tags)
    }

    /// Sends a text to a device's user, and waits for the end.
    func sent(_ text: String, to device: Device) async throws -> Job {
        try await self.finished(try await self.send(text, to: #"{"user":"\#(device.user)"}"#))
    }

    /// The pushes of a text that came to a device.
    func pushes(of text: String, to device: Device) -> [ReceivedPush] {
        self.installation.simulator.received(token: device.handle).filter { $0.body.contains(text) }
    }

    /// Shows that a device gets a text just so often, also until a later send has come.
    func expect(_ count: Int, of text: String, at device: Device) async throws {
        try await eventually("\(text) comes") { self.pushes(of: text, to: device).count >= count }
        let later = Device.unique("later")
        let job = try await self.sent(later, to: device)
        #expect(job.state == "completed", "\(job)")
        try await eventually("\(later) comes") { !self.pushes(of: later, to: device).isEmpty }
        #expect(self.pushes(of: text, to: device).count { (200..<300).contains($0.status) } == count)
    }
}
