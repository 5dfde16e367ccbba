import Foundation
import Payloads
import PushModel
import PushServices
import PushlineSimulator
import Testing

/// The sender's own forms at the services, which are as strict as the real ones.
@Suite(.serialized) struct NativeSenderTests {
    @Test(arguments: APNsPushType.all.map(\.kind))
    func everyPushTypeIsAccepted(kind: NativePayload.Kind) async throws {
        try await Senders.with { senders in
            var batch = try senders.batch(.apns, 2)
            batch.payload = try NativeForm.apns(
                payload: JSONReader.read(Array(#"{"aps":{"x":1},"own":2}"#.utf8)),
                headers: [("apns-push-type", kind.rawValue), ("apns-collapse-id", "own")],
                topic: nil
            )
            #expect(try await senders.sender(.apns).send(batch) == [.accepted, .accepted])
            let push = try #require(senders.simulator.received().last)
            #expect(push.headers["apns-push-type"] == kind.rawValue)
            #expect(push.headers["apns-collapse-id"] == "own")
            #expect(push.body == #"{"aps":{"x":1},"own":2}"#)
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
            batch.payload = try NativeForm.wns(
                body: body,
                headers: [
                    ("X-WNS-Type", type), ("X-WNS-TTL", "30"), ("X-WNS-Cache-Policy", "no-cache"), ("X-WNS-Tag", "t1"),
                    ("X-WNS-PRIORITY", "2"), ("X-WNS-RequestForStatus", "true"), ("X-WNS-Group", "g"),
                ]
            )
            #expect(try await senders.sender(.wns).send(batch) == [.accepted])
            let push = try #require(senders.simulator.received().last)
            #expect(push.body == body)
            #expect(push.headers["x-wns-type"] == type && push.headers["x-wns-ttl"] == "30")
            #expect(push.headers["x-wns-tag"] == "t1" && push.headers["x-wns-cache-policy"] == "no-cache")
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
