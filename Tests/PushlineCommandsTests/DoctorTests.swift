import Broker
import Foundation
import Installation
import PushModel
import Settings
import Store
import Testing
import Undisturbed

@testable import PushlineCommands

/// What the doctor sees of work that does not get on.
@Suite(.undisturbed) struct DoctorTests {
    private func check(_ broker: InMemoryBroker) async -> [Finding] {
        await BrokerCheckup(broker: broker, place: "here", services: [.apns]).run()
    }

    /// Doctor's own words are for an operator; the service's are the last.
    @Test func aWordOfAPNsHasAHint() {
        let reason = WaitReason(.credentials, at: .apns, "TopicDisallowed").text
        #expect(BlockedWork.advice(.credentials, reason).contains("check topic"))
        let other = WaitReason(.credentials, at: .fcm, "status 403").text
        #expect(BlockedWork.advice(.credentials, other).contains("in the app's declaration"))
    }

    @Test func missingQueuesAreReportedAndNotMade() async throws {
        let broker = InMemoryBroker()
        for _ in 0..<2 {
            let found = await self.check(broker)
            #expect(found.map(\.isRight) == [false])
            let words = "lacks \(Topology.pushline.queues.count) queues, such as pushline.parking: "
            #expect(found[0].words.contains(words), "\(found[0].words)")
        }
        try await broker.declare(Topology(queues: Array(Topology.pushline.queues.dropLast())))
        let one = await self.check(broker)
        #expect(one.map(\.isRight) == [false])
        let last = try #require(Topology.pushline.queues.last).name
        #expect(one[0].words.contains("lacks a queue \(last): "), "\(one[0].words)")
    }

    /// Which credentials there are nobody knows then.
    @Test func whereTheStoreCannotBeReadNoPushServiceIsAsked() async throws {
        let host = try HostCommandsTests.Host()
        try host.write("no store", to: "store.sqlite")
        let settings = "store:\n  path: \(host.path("store.sqlite"))\nbroker:\n  url: amqp://127.0.0.1:1/\n"
        try host.write(settings, to: "pushline.yaml")
        let configuration = try PushlineConfiguration(file: host.path("pushline.yaml"))
        let checkup = Checkup(configuration: configuration, logger: HostOptions.logger, question: PushQuestion())
        let found = await checkup.run()
        #expect(found.first?.subject == "store" && found.first?.isRight == false, "\(found)")
        let push = found.filter { $0.subject == "push" }
        #expect(push.count == 1 && push[0].words.contains("in the store, which could not be read"), "\(push)")
    }

    @Test func rootIsToldThatItSeesMore() {
        #expect(Checkup.root(0).map(\.subject) == ["root"])
        #expect(Checkup.root(1000) == [])
    }

    @Test func queuesWithoutConsumersAreReported() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        let idle = await self.check(broker)
        #expect(idle.map(\.isRight) == [true, false, false, false])
        let advice = ["register", "send", "delivery"].map { "start pushline-\($0)-worker" }
        #expect(zip(idle.dropFirst(), advice).allSatisfy { $0.words.hasSuffix($1) })
        try await broker.consume(queue: QueueName.work(.deliver(.apns), .normal), prefetch: 1) { _ in
            #expect(await self.check(broker).map(\.isRight) == [true, false, false, true])
        }
        broker.setUnavailable(true)
        let away = await self.check(broker)
        #expect(away.map(\.isRight) == [false])
        #expect(away[0].words.contains("start RabbitMQ"))
    }

    /// What the management API says of queues with these members.
    private func queues(_ members: [String], online: [String], leader: String?) throws -> [ClusterCheckup.Queue] {
        let queues = Topology.pushline.queues.map { queue -> [String: Any] in
            var entry: [String: Any] = ["name": queue.name, "members": members, "online": online]
            entry["leader"] = leader
            return entry
        }
        let json = try JSONSerialization.data(withJSONObject: queues + [["name": "another"]])
        return try JSONDecoder().decode([ClusterCheckup.Queue].self, from: json)
    }

    @Test func aClusterWithANodeToSpareIsRight() throws {
        let found = ClusterCheckup.findings(
            try self.queues(["r@a", "r@b", "r@c"], online: ["r@b", "r@a", "r@c"], leader: "r@b")
        )
        let count = Topology.pushline.queues.count
        #expect(found.map(\.isRight) == [true])
        #expect(found[0].words.contains("\(count) queues would go on: members online 3; leaders: r@b \(count)"))
    }

    @Test(arguments: [
        (["r@a", "r@b", "r@c"], ["r@a", "r@c"], "r@a", "online r@a, r@c, leader r@a", "start RabbitMQ on r@b, "),
        (["r@a", "r@b"], ["r@a", "r@b"], "r@a", "members 2, online r@a, r@b", "add members"),
        (["r@a"], ["r@a"], "r@a", "members 1, online r@a", "rabbitmq-queues grow"),
        (["r@a", "r@b", "r@c"], ["r@a", "r@b", "r@c"], nil, "leader none", "look at RabbitMQ's log"),
    ])
    func queuesThatOneNodeLessWouldStopAreWrong(
        _ members: [String],
        _ online: [String],
        _ leader: String?,
        _ state: String,
        _ advice: String
    ) throws {
        let found = ClusterCheckup.findings(try self.queues(members, online: online, leader: leader))
        #expect(found.map(\.isRight) == [false])
        let more = Topology.pushline.queues.count - 1
        #expect(found[0].words.hasPrefix("pushline.dead.v2 and \(more) other queues: "), "\(found[0].words)")
        #expect(found[0].words.contains(state) && found[0].words.contains(advice), "\(found[0].words)")
    }

    @Test(arguments: [
        ("amqp://127.0.0.1", true), ("amqp://guest:guest@localhost:5673/x", true), ("amqp://guest@[::1]/", true),
        ("amqp://guest:guest@10.0.0.7:5672/", false), ("amqps://guest:guest@rabbit.example/push", false),
        ("amqp://guest:guest@127.0.0.1,amqp://guest:guest@rabbit2.example", false),
        ("amqp://guest:guest@localhost.example", false), ("amqp://pushline:guest@10.0.0.7", nil),
        ("amqp://guest:s3cret-of-ours@10.0.0.7", nil), ("amqp://pushline:x@127.0.0.1", nil),
    ])
    func theBrokersDefaultUserIsSaid(url: String, isRight: Bool?) throws {
        let configuration = try PushlineConfiguration(file: nil, environment: ["PUSHLINE_BROKER_URL": url])
        let found = Checkup.account(try Composition.defaultAccounts(configuration))
        #expect(found.map(\.isRight) == [isRight].compactMap { $0 })
        #expect(found.allSatisfy { $0.subject == "broker user" && !$0.words.contains("guest:guest") }, "\(found)")
        if isRight == false {
            #expect(found[0].words.contains("rabbitmqctl add_vhost, add_user"))
            let nodes = "at 127.0.0.1:5672, rabbit2.example:5672:"
            #expect(found[0].words.contains(nodes) == url.contains("rabbit2"))
        }
    }

    @Test func descriptorsAreComparedWithTheConnections() {
        let enough = Checkup.descriptors(DescriptorLimit(soft: 1024, hard: 65_536), connections: 10_000)
        #expect(enough.isRight && enough.words.contains("soft 1024, hard 65536"))
        let few = Checkup.descriptors(DescriptorLimit(soft: 1024, hard: 4096), connections: 10_000)
        #expect(!few.isRight && few.words.contains("needs 10200: raise the hard one (LimitNOFILE="), "\(few.words)")
    }

    @Test func theKeysOfTokensAreRead() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "jwks-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        let missing = await Checkup.keys(of: .file(path: file.path), subject: "default tokens")
        #expect(!missing.isRight && missing.words.hasPrefix("tokens.jwks_file: \(file.path): cannot be read"))
        try Data(#"{"keys":[]}"#.utf8).write(to: file)
        let none = await Checkup.keys(of: .file(path: file.path), subject: "default tokens")
        #expect(!none.isRight && none.words.contains("has no key for RS256 or ES256"))
        // The example of RFC 7515, appendix A.3.
        let key =
            #"{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
            + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}"#
        try Data(key.utf8).write(to: file)
        let found = await Checkup.keys(of: .file(path: file.path), subject: "default tokens")
        #expect(found.isRight && found.words.hasSuffix("can be read; keys: 1"), "\(found.words)")
    }

    @Test func parkedMessagesAreReported() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        let properties = MessageProperties(type: "send", messageID: "1", contentType: "text/plain")
        let poison = OutgoingMessage(routingKey: QueueName.dead, properties: properties, body: [])
        #expect(await broker.publish([poison], deadline: .seconds(1)) == [.published])
        for count in 0...20 {
            #expect(await self.check(broker).map(\.subject).contains("parked messages") == false)
            try await broker.consume(queue: QueueName.dead, prefetch: 1) { subscription in
                let delivery = try #require(try await subscription.next())
                #expect(delivery.deliveryCount == count)
            }
        }
        let found = try #require(await self.check(broker).last)
        #expect(found.subject == "parked messages" && !found.isRight)
        #expect(
            found.words.hasPrefix("a message is parked, ") && found.words.hasSuffix(" purge_queue pushline.parking")
        )
    }

    @Test func aResourceAlarmIsReported() async throws {
        let broker = InMemoryBroker()
        try await broker.declare(.pushline)
        broker.setBlocked("low on disk")
        let found = await self.check(broker)
        #expect(found.map(\.isRight) == [false])
        #expect(found[0].words.hasPrefix("here: accepts no messages: low on disk"))
    }

    /// A store with an app `default` that has one device, and `shop`.
    private func store(_ host: HostCommandsTests.Host) async throws -> any ResultStore {
        _ = try await host.run("apps", "apply", host.path("apps.yaml"))
        let configuration = try PushlineConfiguration(file: host.path("pushline.yaml"), environment: [:])
        let store = try await Composition.store(configuration).open(logger: HostOptions.logger)
        for (number, request) in [
            RegisterRequest.issue(candidate: .random(), handles: [Handle(stored: "ab")]),
            .upsert(.random(), .init(pns: .apns, handle: Handle(stored: "ab"), tags: [])),
        ].enumerated() {
            _ = try await store.register(request, of: RegisterJob(app: .default, sequence: Int64(number + 1)))
        }
        return store
    }

    @Test func pausesAndDeadLettersAreReported() async throws {
        let host = try HostCommandsTests.Host()
        let store = try await self.store(host)
        let blocked = BlockedWork(store: store, apps: [.default: AppSpec(), try AppID("shop"): AppSpec()])
        #expect(try await blocked.findings() == [])

        try await store.apply(.pause(.begin(.deliver(.apns), app: try AppID("shop"), by: "key:k")))
        try await store.apply(.pause(.begin(.send, app: nil, by: "host:root")))
        try await store.deadLetter(
            IncomingDeadLetter(queue: "q", type: "", messageID: "", app: nil, reason: "r", body: [])
        )
        try await store.deadLetter(
            IncomingDeadLetter(queue: "q", type: "", messageID: "", app: .default, reason: "r", body: [1])
        )
        let found = try await blocked.findings()
        #expect(found.map(\.subject) == ["queue deliver.apns", "queue send", "dead letters"])
        #expect(found.allSatisfy { !$0.isRight })
        #expect(found[0].words.hasSuffix("pushline queues resume deliver.apns --app shop"))
        #expect(found[1].words.hasSuffix("pushline queues resume send --all-apps"))
        #expect(
            found[2].words
                == "2 to replay or discard: pushline dead --app default, pushline dead --of-no-app"
        )
    }

    /// The store alone knows it where the worker's log is elsewhere.
    @Test func refusedCredentialsAndOpenBreakersAreReported() async throws {
        let host = try HostCommandsTests.Host()
        let store = try await self.store(host)
        for cause in [BreakerCause.credentials, .service] {
            for _ in 1...2 {
                try await self.deferDelivery(in: store, reason: WaitReason(cause, at: .apns, "403 Forbidden"))
            }
        }
        // It is tried again, and nobody need do anything.
        try await self.deferDelivery(in: store, reason: WaitReason("503 ServiceUnavailable"))
        let found = try await BlockedWork(store: store, apps: [.default: AppSpec()]).findings()
        #expect(found.map(\.subject) == ["default sends", "default sends"])
        #expect(found.allSatisfy { $0.words.hasPrefix("2 sends wait, such as ") })
        #expect(found[0].words.contains("APNs fails: 403 Forbidden; "))
        #expect(
            found[1].words.contains("the app's credentials do not work at APNs: 403 Forbidden; Apple refuses the key")
        )
    }

    @Test func devicesOfARemovedCredentialAreReported() async throws {
        let host = try HostCommandsTests.Host()
        let store = try await self.store(host)
        let (watch, clock) = (try CredentialName("watch"), try CredentialName("clock"))
        let rows = [watch, watch, clock, .default].enumerated().map { index, credential in
            ImportedRegistration(pns: .fcm, handle: Handle(stored: "h\(index)"), credential: credential)
        }
        _ = try await store.importRegistrations(rows, app: .default, sequence: nil, lifetime: nil)
        var spec = AppSpec { $0.fcm = AppSpec.FCM { $0.serviceAccountFile = "/f" } }
        spec.credentials[.fcm, clock] = AppSpec.FCM { $0.serviceAccountFile = "/f" }
        let found = try await BlockedWork(store: store, apps: [.default: spec]).findings()
        #expect(found.map(\.subject) == ["default fcm watch"])
        #expect(found.first?.isRight == false && found.first?.words.hasPrefix("2 registrations name") == true)
    }

    /// A send whose only delivery message a worker has deferred.
    private func deferDelivery(in store: any ResultStore, reason: WaitReason) async throws {
        let request = SendRequest(
            audience: .tag(try PushModel.Tag("t", .folded)),
            content: .message(.init(title: nil, body: "x"))
        )
        let new = NewJob(app: .default, work: .send(request), lifetime: .seconds(3600))
        let message = try #require(try await store.accept([new]).messages.first)
        let claim = try #require(try await store.claim(message.id, peeking: false))
        guard case .group(let sends, _) = try await store.work(of: claim), let send = sends.first else {
            Issue.record("the send was not taken")
            return
        }
        let batch = SinglePage(pns: .apns, size: 1, message: 0)
        let step = GroupStep(
            sends: [FanOutSend(sequence: send.sequence, decision: .batches([batch], through: send.through))],
            messages: 1
        )
        guard case .written(let written) = try await store.commit(.group(step), of: claim),
            let delivery = written.deliveries.first ?? nil
        else {
            Issue.record("the send was not fanned out")
            return
        }
        #expect(try await store.defer(delivery.id, epoch: nil, Deferral(pause: .seconds(60), reason: reason)))
    }
}
