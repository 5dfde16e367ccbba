import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import TestStores
import Testing

/// `pushline doctor` of a running installation.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(4))) struct DoctorEndToEndTests {
    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    /// A server of tests is one that a doctor warns of: it forgets what a crash interrupts.
    @Test(.disabled(if: TestStore.isAtServer)) func credentialsAreTriedAndADeviceIsReached() async throws {
        let installation = try self.installation
        // Workers that have just begun do not consume yet, which it says too.
        try await eventually("nothing is wrong") { try await installation.runPushline(["doctor"]).status == 0 }
        let tried = try await installation.runPushline(["doctor", "--push"])
        #expect(tried.status == 0, "\(tried.output)")
        for words in [
            "default apns   APNs at ", "default fcm    Google gives", "default wns    Microsoft gives",
            "default web    Web Push",
        ] { #expect(tried.output.contains(words), "\(tried.output)") }

        let device = try installation.simulator.device("doctor-and-a-device", of: .apns)
        let arguments = ["doctor", "--push", "--app", "default", "--service", "apns", "--device", device]
        let sent = try await installation.runPushline(arguments)
        #expect(sent.status == 0 && sent.output.contains("APNs took a notification for "), "\(sent.output)")
        #expect(!sent.output.contains(device))
        #expect(installation.simulator.received(token: device).count == 1)

        installation.simulator.inject(SimulatorFault(.tokenEndpoint(status: 401, error: "invalid_client"), pns: .wns))
        defer { installation.simulator.clearFaults() }
        let refused = try await installation.runPushline(["doctor", "--push", "--service", "wns"])
        #expect(
            refused.status == 1 && refused.output.contains("wrong  default wns    WNS refuses"),
            "\(refused.output)"
        )
        #expect(!refused.output.contains(try installation.simulator.credentials.wnsClientSecret))
    }

    @Test func aServerIsAskedFromElsewhere() async throws {
        let installation = try self.installation
        let url = "http://127.0.0.1:\(installation.port)"
        // Nothing of this host is read: neither is there a store, nor a broker.
        let elsewhere = [
            "PUSHLINE_STORE_PATH": "/nowhere/store.sqlite", "PUSHLINE_STORE_URL": "",
            "PUSHLINE_BROKER_URL": "amqp://127.0.0.1:1/",
        ]
        func ask(_ key: String?) async throws -> (status: Int32, output: String) {
            try await installation.runPushline(
                ["doctor", "--url", url],
                environment: elsewhere.merging(key.map { ["PUSHLINE_KEY": $0] } ?? [:]) { $1 }
            )
        }
        let stranger = try await ask(nil)
        #expect(stranger.status == 0, "\(stranger.output)")
        for words in [
            "answers: Pushline \(pushlineVersion)", "clock agrees", "ok     store", "ok     broker", "not tried",
        ] {
            #expect(stranger.output.contains(words), "\(words): \(stranger.output)")
        }
        let operated = try await ask(installation.senderKey)
        #expect(operated.status == 0 && operated.output.contains("an operator's of app default"), "\(operated.output)")
        let unknown = try await ask("plk_unknown")
        #expect(unknown.status == 1 && unknown.output.contains("wrong  sign-in"), "\(unknown.output)")
        #expect(!unknown.output.contains("plk_unknown"))

        _ = try await installation.asBackend("POST", "/api/queues/send/pause")
        let paused = try await ask(installation.senderKey)
        _ = try await installation.asBackend("POST", "/api/queues/send/resume")
        #expect(paused.status == 1, "\(paused.output)")
        #expect(paused.output.contains("pushline queues resume send --app default"), "\(paused.output)")
    }
}
