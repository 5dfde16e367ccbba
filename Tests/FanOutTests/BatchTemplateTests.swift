import PushModel
import Store
import Testing

@testable import Pipeline

/// What of a send travels with its batches.
@Suite struct BatchTemplateTests {
    private static let spec: AppSpec = {
        var spec = AppSpec()
        spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "fcm.json" }
        spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "apns.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ"))
            $0.topic = "com.example.app"
        }
        return spec
    }()

    private func prepare(_ content: Content, for pns: PushService, isDryRun: Bool) throws -> PreparedDelivery {
        let send = SmallSend(
            sequence: 1,
            id: .make(),
            request: SendRequest(
                audience: .tag(try Tag("news", .folded)),
                content: content,
                timeToLive: .seconds(60),
                collapse: "c",
                isDryRun: isDryRun
            ),
            accepted: .now,
            expires: .now.advanced(by: .seconds(600)),
            startsAt: nil,
            waiter: nil,
            audience: .large,
            through: 1
        )
        let message = OutboxMessage(id: MessageID(number: 1), app: .default, queue: .send, priority: .normal)
        var devices = DeliverBatch.Devices()
        devices.rows = [1]
        devices.handles.append(Array("aa".utf8))
        return BatchTemplate(send, of: message, spec: Self.spec)
            .prepare(BatchKey(job: send.id, pns: pns, page: 0, attempt: 0), devices: devices)
    }

    @Test(arguments: [false, true]) func aFormTravelsWithItsHeaders(isDryRun: Bool) throws {
        let form = NativePayload(kind: .voip, headers: [.init("apns-priority", "5")], body: Array(#"{"a":1}"#.utf8))
        let content = Content.native(.init(message: nil, forms: [form]))
        guard case .deliverable(let batch) = try self.prepare(content, for: .apns, isDryRun: isDryRun) else {
            Issue.record("it is not deliverable")
            return
        }
        #expect(batch.payload == form)
        #expect(batch.isDryRun == isDryRun)
        #expect(batch.collapse == "c" && batch.keepUntil != nil)
    }

    /// It ends delivery to that service, before the send's own 60 seconds.
    @Test func aFormsTimeToLiveIsTheBatchs() throws {
        let end = Timestamp.now.advanced(by: .seconds(20))
        let form = NativePayload(
            kind: .alert,
            headers: [.init("apns-expiration", "\(end.seconds)")],
            body: Array(#"{"aps":{}}"#.utf8)
        )
        let content = Content.native(.init(message: nil, forms: [form]))
        guard case .deliverable(let batch) = try self.prepare(content, for: .apns, isDryRun: false) else {
            Issue.record("it is not deliverable")
            return
        }
        #expect(batch.keepUntil?.seconds == end.seconds)
        #expect(!batch.isLate(at: .now) && batch.isLate(at: end))
    }

    @Test func aServiceThatGetsNothingIsRejected() throws {
        let form = NativePayload(kind: .alert, body: Array(#"{"aps":{}}"#.utf8))
        let content = Content.native(.init(message: nil, forms: [form]))
        guard case .undeliverable(let outcome, of: _) = try self.prepare(content, for: .fcm, isDryRun: false) else {
            Issue.record("it is deliverable")
            return
        }
        #expect(outcome.failures.map(\.failure) == [.rejected])
    }
}
