import PushModel
import Store
import Testing

@testable import Pipeline

/// How the sends of a group are divided, and which wait (rule 12).
@Suite struct GroupFanOutTests {
    private static let message = OutboxMessage(
        id: MessageID(number: 1),
        app: .default,
        queue: .send,
        priority: .normal
    )

    private static var spec: AppSpec {
        var spec = AppSpec()
        spec.fcm = AppSpec.FCM { $0.serviceAccountFile = "fcm.json" }
        spec.apns = AppSpec.APNs {
            $0.authentication = .token(.init(keyFile: "apns.p8", keyID: "ABC123DEFG", teamID: "DEF123GHIJ"))
            $0.topic = "com.example.app"
        }
        return spec
    }

    private func fanOut(apns: Int, fcm: Int) -> GroupFanOut {
        GroupFanOut(
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

    /// Divides sends, numbered from 1, of which so many are looked at.
    private func divide(
        _ sends: [KeyValuePairs<PushService, Int>?],
        looksAt count: Int? = nil,
        with fanOut: inout GroupFanOut
    ) throws {
        var looked = 0
        for (index, devices) in sends.enumerated() {
            guard fanOut.divide(try self.send(Int64(index + 1), devices)) else { break }
            looked += 1
        }
        #expect(looked == count ?? sends.count)
    }

    /// `1 apns:0` for a send with a batch in the delivery message 0, `alone`, `none` for one without a target.
    private func decisions(_ fanOut: GroupFanOut) -> [String] {
        fanOut.step.sends.map { send in
            switch send.decision {
            case .ownMessage: "\(send.sequence) alone"
            case .batches(let batches, let through):
                "\(send.sequence) to \(through) "
                    + batches.map { "\($0.pns.rawValue):\($0.message)" }.joined(separator: " ")
            }
        }
    }

    @Test func eachServiceHasItsOwnMessages() throws {
        var fanOut = self.fanOut(apns: 10_000, fcm: 10_000)
        try self.divide([[.apns: 1], [.apns: 1, .fcm: 2], [:], nil, [.mpns: 1], [.fcm: 1]], with: &fanOut)
        #expect(
            self.decisions(fanOut)
                == ["1 to 7 apns:0", "2 to 7 apns:0 fcm:1", "3 to 7 ", "4 alone", "5 alone", "6 to 7 fcm:1"]
        )
        #expect(fanOut.step.messages == 2)
        #expect(fanOut.step.devices.mapValues(\.all) == [.apns: 2, .fcm: 3])
        #expect(fanOut.written.map(\.sequence) == [1, 2, 3, 6])
        #expect(fanOut.messages.map(\.count) == [2, 2])
        #expect(fanOut.blocked.isEmpty)
    }

    @Test func aFullMessageIsFollowedByAnother() throws {
        var fanOut = self.fanOut(apns: 10_000, fcm: 0)
        try self.divide(Array(repeating: [.apns: 90], count: 25), with: &fanOut)
        #expect(fanOut.messages.map(\.count) == [11, 11, 3])
        #expect(fanOut.step.messages == 3)
    }

    @Test func sendsOnlyToServicesWithoutCreditAreSkipped() throws {
        var fanOut = self.fanOut(apns: 0, fcm: 10)
        try self.divide([[.apns: 1], [.fcm: 1], [.apns: 1, .fcm: 1], [.apns: 3]], with: &fanOut)
        #expect(self.decisions(fanOut) == ["2 to 7 fcm:0", "3 alone"])
        #expect(fanOut.blocked == [.apns])
    }

    @Test func aStepEndsWhenCreditRunsOut() throws {
        var fanOut = self.fanOut(apns: 10, fcm: 0)
        try self.divide([[.apns: 8], [.fcm: 1], [.apns: 3]], looksAt: 2, with: &fanOut)
        #expect(self.decisions(fanOut) == ["1 to 7 apns:0"])
        #expect(fanOut.blocked == [.fcm])
    }

    // MARK: Credentials

    /// A send to one device of APNs, with another credential than the default one.
    private func send(_ sequence: Int64, _ credential: CredentialName) throws -> SmallSend {
        let plain = try self.send(sequence, [.apns: 1])
        guard case .all(var reaches) = plain.audience else { throw Unexpected() }
        reaches[0].devices.credentials.append(credential, at: 0)
        return SmallSend(
            sequence: sequence,
            id: plain.id,
            request: plain.request,
            accepted: plain.accepted,
            expires: plain.expires,
            startsAt: nil,
            waiter: nil,
            audience: .all(reaches),
            through: plain.through
        )
    }

    private struct Unexpected: Error {}

    private func fanOut(_ credential: CredentialName, free: Int) -> GroupFanOut {
        let limits = [credential: CredentialCredit(devices: free)]
        return GroupFanOut(Self.message, credit: [.apns: Credit(devices: 100, limits: limits)], spec: Self.spec)
    }

    @Test func sendsOfACredentialWithoutCreditArePassedOver() throws {
        let watch = try CredentialName("watch")
        var fanOut = self.fanOut(watch, free: 0)
        for send in [try self.send(1, watch), try self.send(2, [.apns: 3]), try self.send(3, watch)] {
            let goesOn = fanOut.divide(send)
            #expect(goesOn)
        }
        #expect(self.decisions(fanOut) == ["2 to 7 apns:0"])
        #expect(fanOut.blocked == [.apns])
    }

    @Test func aStepEndsWhenACredentialsCreditRunsOut() throws {
        let watch = try CredentialName("watch")
        var fanOut = self.fanOut(watch, free: 1)
        var goesOn = fanOut.divide(try self.send(1, watch))
        #expect(goesOn)
        goesOn = fanOut.divide(try self.send(2, [.apns: 3]))
        #expect(goesOn)
        goesOn = fanOut.divide(try self.send(3, watch))
        #expect(!goesOn)
        #expect(self.decisions(fanOut) == ["1 to 7 apns:0", "2 to 7 apns:0"])
        #expect(fanOut.step.devices[.apns]?[watch] == 1 && fanOut.step.devices[.apns]?[.default] == 3)
        #expect(fanOut.blocked.isEmpty)
    }

    @Test func aPageEndsWhereACredentialHasNoCredit() throws {
        let watch = try CredentialName("watch")
        var audience = AudiencePage(scannedThrough: 90)
        for (index, credential) in [.default, watch, .default, watch, .default].enumerated() {
            audience.credentials.append(credential, at: index)
            audience.rows.append(Int64(index) + 1)
            audience.handles.append(Array("aa".utf8))
        }
        for (free, count) in [(0, 1), (1, 3), (2, 5)] {
            let credit = Credit(devices: 100, limits: [watch: CredentialCredit(devices: free)])
            #expect(credit.prefix(of: audience) == count)
            let first = audience.prefix(count)
            #expect(first.rows.count == count && first.handles.count == count)
            // What is left out is the beginning of the next page.
            #expect(first.scannedThrough == (count == 5 ? 90 : Int64(count)))
            #expect(first.credentials.counts(of: count) == (count == 1 ? [:] : [watch: count / 2]))
        }
        #expect(Credit(devices: 1).prefix(of: audience) == 5)
    }

    @Test func aSendLargerThanAllCreditLeavesItsGroup() throws {
        var fanOut = self.fanOut(apns: 10, fcm: 0)
        try self.divide([[.apns: 11], [.apns: 10]], with: &fanOut)
        #expect(self.decisions(fanOut) == ["1 alone", "2 to 7 apns:0"])
    }
}
