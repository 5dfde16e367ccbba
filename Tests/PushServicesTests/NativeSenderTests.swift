import Foundation
import Payloads
import PushModel
import PushServices
import PushlineSimulator
import Testing
import Undisturbed

/// The sender's own forms at the services, which are as strict as the real ones.
@Suite(.serialized, .undisturbed) struct NativeSenderTests {
    private static func form(
        _ pns: PushService,
        _ payload: JSONValue,
        _ headers: [NativeForm.Header]
    ) throws -> NativePayload {
        try #require(ServiceFormat.of(pns)).form.read(payload, headers: headers, of: AppSpec())
    }

    @Test(arguments: NativePayload.Kind.allOfAPNs)
    func everyPushTypeIsAccepted(kind: NativePayload.Kind) async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.apns, 2)
            // What an update of a Live Activity needs; the others may have it.
            let text = #"{"aps":{"timestamp":1,"event":"update","content-state":{}},"own":2}"#
            batch.payload = try Self.form(
                .apns,
                JSONReader.read(Array(text.utf8)),
                [("apns-push-type", kind.name), ("apns-collapse-id", "own")]
            )
            #expect(try await senders.sender(.apns).send(batch) == [.accepted, .accepted])
            let push = try #require(senders.simulator.received().last)
            #expect(push.headers["apns-push-type"] == kind.name)
            #expect(push.headers["apns-collapse-id"] == "own")
            #expect(push.body == text)
        }
    }

    @Test(
        arguments: [
            ("wns/toast", "<toast>a</toast>"), ("wns/tile", "<tile/>"), ("wns/badge", "<badge value=\"1\"/>"),
            ("wns/raw", "raw <"),
        ]
    )
    func everyTypeOfWNSIsAccepted(type: String, body: String) async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.wns, 1)
            batch.payload = try Self.form(
                .wns,
                .string(body),
                [
                    ("X-WNS-Type", type), ("X-WNS-TTL", "30"), ("X-WNS-Cache-Policy", "no-cache"), ("X-WNS-Tag", "t1"),
                    ("X-WNS-PRIORITY", "2"), ("X-WNS-RequestForStatus", "true"),
                ]
            )
            #expect(try await senders.sender(.wns).send(batch) == [.accepted])
            let push = try #require(senders.simulator.received().last)
            #expect(push.body == body)
            #expect(push.headers["x-wns-type"] == type && push.headers["x-wns-ttl"] == "30")
            #expect(push.headers["x-wns-tag"] == "t1" && push.headers["x-wns-cache-policy"] == "no-cache")
        }
    }

    @Test(arguments: PushService.inService)
    func aDryRunReachesNobody(pns: PushService) async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(pns, 3)
            batch.isDryRun = true
            #expect(try await senders.sender(pns).send(batch) == Array(repeating: .accepted, count: 3))
            let counts = senders.simulator.counts[pns]
            #expect(counts.accepted == 0)
            #expect(counts.requests == (pns.descriptor.validatesDryRuns ? 3 : 0))
            for push in senders.simulator.received() where push.pns == .fcm {
                #expect(push.body.hasPrefix(#"{"validate_only":true,"message":{"token":"device:"#))
            }
            // Its credentials were used: the push that follows needs no access token of its own.
            batch.isDryRun = false
            #expect(try await senders.sender(pns).send(batch) == Array(repeating: .accepted, count: 3))
            #expect(senders.simulator.counts[pns].accessTokens == counts.accessTokens)
        }
    }

    @Test func aDryRunRefusesAForgedChannel() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.wns, 2)
            batch.isDryRun = true
            batch.devices.rows.append(3)
            batch.devices.handles.append("https://evil.example/?token=x".utf8)
            batch.indexes = [0, 2]
            let results = try await senders.sender(.wns).send(batch)
            #expect(results == [.accepted, .rejected(reason: "the channel is not WNS' own", status: nil)])
        }
    }

    @Test func aDryRunLearnsWhatFCMSaysOfATokenOrMessage() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.fcm, 2)
            batch.isDryRun = true
            senders.simulator.inject(
                SimulatorFault(.answer(reason: "UNREGISTERED"), token: try senders.handle(.fcm, 1))
            )
            let results = try await senders.sender(.fcm).send(batch)
            #expect(results[0] == .accepted)
            guard case .dead(_, "UNREGISTERED", 404) = results[1] else {
                Issue.record("\(results[1])")
                return
            }
            batch.payload = NativePayload(kind: .message, body: Array(#"{"text":"x"}"#.utf8))
            for result in try await senders.sender(.fcm).send(batch) {
                guard case .rejected = result else {
                    Issue.record("\(result)")
                    return
                }
            }
        }
    }

    /// A forged message may name headers that no send may set: they are not sent.
    @Test func otherHeadersAreNotSent() async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.apns, 1)
            batch.payload = NativePayload(
                kind: .alert,
                headers: [.init("authorization", "bearer x"), .init("apns-topic", "other"), .init("apns-id", "x")],
                body: Array(#"{"aps":{}}"#.utf8)
            )
            #expect(try await senders.sender(.apns).send(batch) == [.accepted])
            #expect(
                senders.simulator.received().last?.headers["apns-id"] == batch.job.notificationID(row: 1).description
            )
        }
    }
}
