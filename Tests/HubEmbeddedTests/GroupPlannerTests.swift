import PushModel
import Store
import Testing

@testable import HubEmbedded

/// How the sends of a group are divided, and which wait (rule 12).
@Suite struct GroupPlannerTests {
    private static let message = OutboxMessage(
        id: MessageID(number: 1),
        app: .default,
        queue: .send,
        priority: .normal
    )

    private static var spec: AppSpec {
        var spec = AppSpec()
        spec.fcm = .init(serviceAccountFile: "fcm.json")
        spec.apns = .init(keyFile: "apns.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ", topic: "com.example.app")
        return spec
    }

    private func planner(apns: Int, fcm: Int) -> GroupPlanner {
        GroupPlanner(
            Self.message,
            credit: [.apns: Credit(devices: apns), .fcm: Credit(devices: fcm)],
            spec: Self.spec
        )
    }

    /// A send with so many devices of each service; nil = too many to be read.
    private func send(_ sequence: Int64, _ devices: KeyValuePairs<PushService, Int>?) throws -> SmallSend {
        let reaches = devices.map { devices in
            devices.map { pns, count in
                var reach = SmallSend.Reach(pns: pns)
                for number in 0..<count {
                    reach.devices.rows.append(sequence * 1000 + Int64(number))
                    reach.devices.handles.append(Array(String(repeating: "a", count: 64).utf8))
                }
                return reach
            }
        }
        return SmallSend(
            sequence: sequence,
            id: .make(),
            request: SendRequest(audience: .tag(try Tag("news", .folded)), content: .message(.init(body: "b"))),
            accepted: .now,
            expires: .now.advanced(by: .seconds(600)),
            startsAt: nil,
            waiter: nil,
            audience: reaches.map { .all($0) } ?? .large,
            through: 7
        )
    }

    /// Plans sends, numbered from 1, of which so many are looked at.
    private func plan(
        _ sends: [KeyValuePairs<PushService, Int>?],
        looksAt count: Int? = nil,
        with planner: inout GroupPlanner
    ) throws {
        var looked = 0
        for (index, devices) in sends.enumerated() {
            guard planner.plan(try self.send(Int64(index + 1), devices)) else { break }
            looked += 1
        }
        #expect(looked == count ?? sends.count)
    }

    /// `1 apns:0` for a send with a batch in the delivery message 0, `alone`, `none` for one without a target.
    private func fates(_ planner: GroupPlanner) -> [String] {
        planner.step.sends.map { send in
            switch send.fate {
            case .alone: "\(send.sequence) alone"
            case .batches(let batches):
                "\(send.sequence) " + batches.map { "\($0.pns.rawValue):\($0.message)" }.joined(separator: " ")
            }
        }
    }

    @Test func eachServiceHasMessagesOfItsOwn() throws {
        var planner = self.planner(apns: 10_000, fcm: 10_000)
        try self.plan([[.apns: 1], [.apns: 1, .fcm: 2], [:], nil, [.mpns: 1], [.fcm: 1]], with: &planner)
        #expect(self.fates(planner) == ["1 apns:0", "2 apns:0 fcm:1", "3 ", "4 alone", "5 alone", "6 fcm:1"])
        #expect(planner.step.messages == 2)
        #expect(planner.step.through == 7)
        #expect(planner.step.devices == [.apns: 2, .fcm: 3])
        #expect(planner.written.map(\.sequence) == [1, 2, 3, 6])
        #expect(planner.messages.map(\.count) == [2, 2])
        #expect(planner.blocked.isEmpty)
    }

    @Test func aMessageThatIsFullIsFollowedByAnother() throws {
        var planner = self.planner(apns: 10_000, fcm: 0)
        try self.plan(Array(repeating: [.apns: 90], count: 25), with: &planner)
        #expect(planner.messages.map(\.count) == [11, 11, 3])
        #expect(planner.step.messages == 3)
    }

    @Test func whatGoesToClosedServicesAloneIsPassedOver() throws {
        var planner = self.planner(apns: 0, fcm: 10)
        try self.plan([[.apns: 1], [.fcm: 1], [.apns: 1, .fcm: 1], [.apns: 3]], with: &planner)
        #expect(self.fates(planner) == ["2 fcm:0", "3 alone"])
        #expect(planner.blocked == [.apns])
    }

    @Test func aStepEndsWhereItsCreditDoes() throws {
        var planner = self.planner(apns: 10, fcm: 0)
        try self.plan([[.apns: 8], [.fcm: 1], [.apns: 3]], looksAt: 2, with: &planner)
        #expect(self.fates(planner) == ["1 apns:0"])
        #expect(planner.blocked == [.fcm])
    }

    @Test func whatIsTooMuchForAllCreditGoesAlone() throws {
        var planner = self.planner(apns: 10, fcm: 0)
        try self.plan([[.apns: 11], [.apns: 10]], with: &planner)
        #expect(self.fates(planner) == ["1 alone", "2 apns:0"])
    }
}
