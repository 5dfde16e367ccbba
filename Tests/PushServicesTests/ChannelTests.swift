import Foundation
import Logging
import Payloads
import PushModel
import PushlineSimulator
import RawHTTP
import Testing
import Undisturbed

@testable import PushServices

/// Broadcast channels of APNs at the simulator, which is as strict as Apple.
@Suite(.serialized, .undisturbed) struct ChannelTests {
    private static func update(_ priority: Priority = .normal) throws -> NativePayload {
        try APNsLiveActivity.payload(
            aps: [
                .init("timestamp", .integer(1_790_000_000)), .init("event", .string("update")),
                .init("content-state", .object([])),
            ],
            priority: priority,
            isBroadcast: true
        )
    }

    private static func with(
        certificate: Bool = false,
        _ body: (Senders, APNsChannels) async throws -> Void
    ) async throws {
        try await Senders.with { senders in
            var senders = senders
            if certificate {
                let file = try senders.simulator.credentials.apnsCertificateFile
                senders.spec.apns?.authentication = .certificate(.init(file: file))
            }
            let channels = try APNsChannels(try #require(senders.spec.apns), logger: .quiet)
            let result: Result<Void, any Error>
            do { result = .success(try await body(senders, channels)) } catch { result = .failure(error) }
            await channels.close()
            try result.get()
        }
    }

    @Test(arguments: [false, true]) func channelsAreManaged(certificate: Bool) async throws {
        try await Self.with(certificate: certificate) { _, channels in
            #expect(try await channels.all().isEmpty)
            let (none, latest) = (try await channels.create(.nothing), try await channels.create(.latest))
            #expect(try await channels.storage(of: none) == .nothing)
            #expect(try await channels.storage(of: latest) == .latest)
            #expect(try await channels.all() == [none, latest])
            try await channels.delete(none)
            #expect(try await channels.all() == [latest])
            let gone = await #expect(throws: APNsChannels.Fault.self) { try await channels.delete(none) }
            let words = "127.0.0.1 answered 400 ChannelNotRegistered: the bundle id has no such channel"
            #expect(gone?.description.hasPrefix(words) == true)
            #expect(gone?.description.contains("; request ") == true && gone?.kind == .notFound)
        }
    }

    /// Its clock was a day behind when the token was minted, and has been set since.
    @Test func aTokenOfAWrongClockIsReplaced() async throws {
        try await Self.with { _, channels in
            let wrong = try channels.token?.token(wall: .now.advanced(by: .seconds(-86_400)))
            #expect(try await channels.all().isEmpty)
            #expect(try channels.token?.token() != wrong)
        }
    }

    /// A creation without an answer may have made a channel; the other calls can be repeated.
    @Test func theKindOfAFaultSaysWhatMayBeRepeated() async throws {
        try await Self.with { senders, channels in
            func fault(_ action: SimulatorFault.Action, _ call: () async throws -> Void) async -> APNsChannels.Fault? {
                senders.simulator.inject(SimulatorFault(action, token: "channels", count: 1))
                return await #expect(throws: APNsChannels.Fault.self) { try await call() }
            }
            let create = { @Sendable () async throws -> Void in _ = try await channels.create(.nothing) }
            let list = { @Sendable () async throws -> Void in _ = try await channels.all() }
            let busy = SimulatorFault.Action.answer(reason: "ServiceUnavailable", retryAfter: .seconds(7))
            #expect(await fault(busy, create)?.kind == .unavailable(after: .seconds(7)))
            #expect(await fault(.answer(reason: "TooManyRequests"), create)?.kind == .unavailable(after: nil))
            #expect(await fault(.answer(reason: "InternalServerError"), list)?.kind == .unavailable(after: nil))
            #expect(await fault(.swallow, list)?.kind == .unavailable(after: nil))
            #expect(await fault(.answer(reason: "FeatureNotEnabled"), create)?.kind == .refused)
            let none = try await channels.all()
            #expect(none.isEmpty)
            for action in [SimulatorFault.Action.answer(reason: "InternalServerError"), .swallow] {
                let lost = await fault(action, create)
                #expect(lost?.kind == .unknown && lost?.description.contains("may have been made") == true)
            }
            let made = try await channels.all()
            #expect(made.count == 1)
        }
    }

    @Test func aClientIsKeptUntilAFileIsReplaced() async throws {
        try await Senders.with { senders in
            let clients = APNsChannelClients(logger: .quiet)
            var spec = try #require(senders.spec.apns)
            guard case .token(var token) = spec.authentication else { return }
            let copy = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).p8").path
            defer { try? FileManager.default.removeItem(atPath: copy) }
            try FileManager.default.copyItem(atPath: token.keyFile, toPath: copy)
            token.keyFile = copy
            spec.authentication = .token(token)
            let first = try clients.channels(of: spec)
            #expect(try clients.channels(of: spec) === first)
            try Data("no key".utf8).write(to: URL(filePath: copy))
            #expect(throws: SenderError.self) { try clients.channels(of: spec) }
            try FileManager.default.removeItem(atPath: copy)
            #expect(throws: SenderError.self) { try clients.channels(of: spec) }
            // A call that was under way goes on.
            #expect(try await first.all().isEmpty)
            await clients.close()
            #expect(throws: SenderError.self) { try clients.channels(of: spec) }
        }
    }

    @Test func whatIsWrongIsSaid() async throws {
        try await Senders.with { senders in
            var spec = try #require(senders.spec.apns)
            spec.topic = "com.example.other"
            let other = try APNsChannels(spec, logger: .quiet)
            let fault = await #expect(throws: APNsChannels.Fault.self) { try await other.create(.nothing) }
            #expect(fault?.description.contains("403 TopicMismatch: the key's team") == true)
            await other.close()

            spec.topic = "com.example.app"
            spec.authentication = try senders.token(keyFile: "/nowhere.p8")
            let unreadable = #expect(throws: SenderError.self) { try APNsChannels(spec, logger: .quiet) }
            #expect(unreadable?.message.contains("/nowhere.p8") == true)
        }
    }

    @Test func withoutAServiceNothingWasDone() async throws {
        try await Senders.with { senders in
            var spec = try #require(senders.spec.apns)
            // Nothing listens there.
            spec.channelsEndpoint = "https://127.0.0.1:1"
            let channels = try APNsChannels(spec, logger: .quiet)
            let fault = await #expect(throws: APNsChannels.Fault.self) { try await channels.create(.nothing) }
            #expect(fault?.description.hasPrefix("127.0.0.1: ") == true)
            #expect(fault?.kind == .unavailable(after: nil), "\(String(describing: fault))")
            await channels.close()
        }
    }

    /// Of a creation the head says all; of a question the body is the answer.
    @Test func aBodyThatDoesNotEndIsNotWaitedFor() async throws {
        let material = try KeyMaterial.load(folder: nil)
        let trust = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem").path
        defer { try? FileManager.default.removeItem(atPath: trust) }
        try Data(material.authorityPEM.utf8).write(to: URL(filePath: trust))
        let tls = try material.serverContext(protocols: ["http/1.1"], takesCertificates: false)
        try await Senders.with { senders in
            var spec = try #require(senders.spec.apns)
            spec.trustFile = trust
            let react: @Sendable (RawServer.Request) async -> RawServer.Reply = { request in
                let status = ["POST": 201, "DELETE": 204][request.method] ?? 200
                let length = status == 204 ? "" : "content-length: 10\r\n"
                let head = "HTTP/1.1 \(status) x\r\napns-channel-id: YQ==\r\n\(length)\r\n"
                return .bytes(Array(head.utf8) + (status == 204 ? [] : Array("{".utf8)))
            }
            try await RawServer.run(.tls(tls), react: react) { [spec] server in
                var spec = spec
                spec.channelsEndpoint = "https://127.0.0.1:\(server.port)"
                let channels = try APNsChannels(spec, timeout: .seconds(2), logger: .quiet)
                let made = try await channels.create(.nothing)
                #expect(made.text == "YQ==")
                let fault = await #expect(throws: APNsChannels.Fault.self) { try await channels.all() }
                #expect(fault?.kind == .unavailable(after: nil), "\(String(describing: fault))")
                try await channels.delete(made)
                await channels.close()
            }
        }
    }

    @Test(arguments: [
        ("https://api.push.apple.com", "api-manage-broadcast.push.apple.com:2196"),
        ("https://api.push.apple.com:2197", "api-manage-broadcast.push.apple.com:2196"),
        ("https://api.sandbox.push.apple.com", "api-manage-broadcast.sandbox.push.apple.com:2195"),
        ("https://api.development.push.apple.com", "api-manage-broadcast.sandbox.push.apple.com:2195"),
        ("https://127.0.0.1:8443", "127.0.0.1:8443"),
    ])
    func applesHostsForChannels(endpoint: String, authority: String) throws {
        let app = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "k", keyID: "k", teamID: "t"))
            $0.topic = "com.example"
            $0.endpoint = endpoint
        }
        #expect(try APNsChannels.endpoint(of: app).authority == authority)
        var own = app
        own.channelsEndpoint = "https://127.0.0.1:9444"
        #expect(try APNsChannels.endpoint(of: own).authority == "127.0.0.1:9444")
    }

    @Test func aPushToAChannelHasApplesForm() async throws {
        try await Self.with { senders, channels in
            let (none, latest) = (try await channels.create(.nothing), try await channels.create(.latest))
            var batch = try senders.batch(.apns, handles: [none.text, latest.text, "YQ=="])
            batch.payload = try Self.update()
            let results = try await senders.sender(.apns).send(batch)
            #expect(
                results == [.accepted, .accepted, .rejected(reason: "ChannelNotRegistered", status: 400)]
            )
            let push = try #require(senders.simulator.received(token: none.text).last)
            #expect(push.headers["apns-request-id"] == batch.job.notificationID(row: 1).description)
            #expect(push.headers["apns-expiration"] == "0" && push.headers["apns-priority"] == "5")
            #expect(push.headers["apns-topic"] == nil && push.headers["apns-id"] == nil)
            #expect(push.headers["apns-collapse-id"] == nil)

            // A channel that stores nothing takes no other end.
            batch.keepUntil = .now.advanced(by: .seconds(3600))
            let kept = try await senders.sender(.apns).send(batch)
            #expect(kept[0] == .rejected(reason: "BadExpirationDate", status: 400) && kept[1] == .accepted)
            // A repetition of the same push is known by its id.
            #expect(senders.simulator.counts.apns.duplicates == 1)
        }
    }

    /// What is wrong with channels alone must not stop the pushes to devices.
    @Test func aFeatureThatIsOffFailsTheChannelAlone() async throws {
        try await Self.with { senders, channels in
            let channel = try await channels.create(.nothing)
            senders.simulator.inject(SimulatorFault(.answer(reason: "FeatureNotEnabled"), token: channel.text))
            var batch = try senders.batch(.apns, handles: [channel.text])
            batch.payload = try Self.update()
            #expect(
                try await senders.sender(.apns).send(batch) == [.rejected(reason: "FeatureNotEnabled", status: 400)]
            )
        }
    }

    @Test func aDryRunReachesNoChannel() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.apns, handles: ["YQ=="])
            batch.payload = try Self.update()
            batch.isDryRun = true
            #expect(try await senders.sender(.apns).send(batch) == [.accepted])
            #expect(senders.simulator.counts.apns.requests == 0)
        }
    }

    @Test func anInstallationIsSentToAsSuch() async throws {
        try await Senders.with { senders in
            let installation = "fid:cAbCdEfGhIjKlMnOpQrSt_"
            var batch = try senders.batch(.fcm, handles: [installation, "device:1"])
            #expect(try await senders.sender(.fcm).send(batch) == [.accepted, .accepted])
            let push = try #require(senders.simulator.received(token: installation).last)
            #expect(push.body.hasPrefix(#"{"message":{"fid":"cAbCdEfGhIjKlMnOpQrSt_","#))
            let other = try #require(senders.simulator.received(token: "device:1").last)
            #expect(other.body.hasPrefix(#"{"message":{"token":"device:1","#) && !other.body.contains("fid"))

            batch.isDryRun = true
            #expect(try await senders.sender(.fcm).send(batch) == [.accepted, .accepted])
            let validated = try #require(senders.simulator.received(token: installation).last)
            #expect(validated.body.hasPrefix(#"{"validate_only":true,"message":{"fid":"#))

            batch.isDryRun = false
            senders.simulator.inject(SimulatorFault(.answer(reason: "UNREGISTERED"), token: installation))
            guard case .dead(_, "UNREGISTERED", 404)? = try await senders.sender(.fcm).send(batch).first else {
                Issue.record("an installation that is gone is dead")
                return
            }
        }
    }
}
