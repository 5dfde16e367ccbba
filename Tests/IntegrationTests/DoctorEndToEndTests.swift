import Foundation
import InstallationSupport
import PushModel
import PushlineSimulator
import TestStores
import Testing
import Undisturbed

/// `pushline doctor` of a running installation.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(4)), .undisturbed) struct DoctorEndToEndTests {
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
            "default apns   APNs at ", " takes messages in place of FCM", "in place of Microsoft, gives a token",
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

    /// What doctor says of a broker at another address, in its line `broker`.
    private func broker(_ url: String, _ environment: [String: String] = [:]) async throws -> String {
        let settings = environment.merging(["PUSHLINE_BROKER_URL": url]) { $1 }
        let said = try await self.installation.runPushline(["doctor"], environment: settings)
        let lines = said.output.split(separator: "\n").filter { $0.contains("  broker  ") }
        #expect(lines.count == 1, "\(said.output)")
        return lines.first.map(String.init) ?? ""
    }

    @Test func aBrokerThatCannotBeUsedIsToldByTheReason() async throws {
        let node = try #require(RabbitMQTestNode.current)
        let account = try #require(node.url.firstMatch(of: #/amqp://([^:]+):([^@]+)@(.+)/pushline/#))
        let (user, password, place) = (account.1, account.2, account.3)
        let (login, plain) = ("\(user):\(password)", place.split(separator: ":")[1])
        // Nobody may enter it.
        try await node.control("add_vhost locked")
        let authority = ["PUSHLINE_BROKER_CA_FILE": node.directory + "/tls/ca.pem"]
        let secure = try #require(node.tlsURL.firstMatch(of: #/@[^:]+:([0-9]+)/#)?.1)
        let cases: [(url: String, environment: [String: String], reason: String, advice: String)] = [
            ("amqp://\(user):wrong@\(place)/pushline", [:], "ACCESS_REFUSED", "correct user and password"),
            ("amqp://nobody:wrong@\(place)/pushline", [:], "ACCESS_REFUSED", "rabbitmqctl add_user"),
            ("amqp://\(login)@\(place)/nowhere", [:], "vhost nowhere not found", "rabbitmqctl add_vhost"),
            ("amqp://\(login)@\(place)/locked", [:], "access to vhost 'locked'", "set_permissions -p VHOST USER"),
            ("amqp://\(login)@127.0.0.1:1/pushline", [:], "socket error", "start RabbitMQ"),
            ("amqps://\(login)@localhost:\(secure)/pushline", [:], "SSL", "broker.ca_file"),
            ("amqps://\(login)@localhost:\(plain)/pushline", authority, "SSL", "5671"),
        ]
        for (url, environment, reason, advice) in cases {
            let line = try await self.broker(url, environment)
            #expect(line.hasPrefix("wrong") && line.contains(reason) && line.contains(advice), "\(url): \(line)")
            #expect(line.contains("start RabbitMQ") == (advice == "start RabbitMQ"), "\(line)")
            #expect(!line.contains("wrong@") && !line.contains(password), "\(line)")
        }
    }

    @Test func aDoctorMakesNoQueueAndSaysWhichAreMissing() async throws {
        let node = try #require(RabbitMQTestNode.current)
        let user = try #require(node.url.firstMatch(of: #/amqp://([^:]+):/#)?.1)
        try await node.control("add_vhost empty")
        try await node.control("set_permissions -p empty \(user) '.*' '.*' '.*'")
        let url = node.url.replacing(#/[^/]+$/#, with: "empty")
        for _ in 0..<2 {
            let line = try await self.broker(url)
            #expect(line.contains("lacks 20 queues") && line.contains("the programs make them"), "\(line)")
            #expect(try await node.control("--silent list_queues -p empty name").isEmpty)
            #expect(try await !node.control("list_exchanges -p empty name").contains("pushline"))
        }
        // One that may do nothing here is told so when all queues are there, as a program would find them.
        try await node.control("set_permissions -p pushline \(user) '^$' '^$' '^$'")
        let line = try await self.broker(node.url)
        try await node.control("set_permissions -p pushline \(user) '.*' '.*' '.*'")
        #expect(line.contains("ACCESS_REFUSED") && line.contains("set_permissions -p VHOST USER"), "\(line)")
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
