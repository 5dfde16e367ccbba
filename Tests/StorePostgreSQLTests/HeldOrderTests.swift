import PushModel
import Store
import StoreKit
import StoreSQL
import Testing

/// All that change rows of several tables hold them in one order, so that no two wait for each other: jobs, their messages, and then sums, the
/// last of which are the backlog's, shared by all.
@Suite struct HeldOrderTests {
    @Test(arguments: [false, true]) func messagesAreHeldBeforeSums(isSet: Bool) throws {
        let counts = Counts()
        counts.count(BacklogChange(from: .running, to: .completed))
        counts.add(1, of: .accepted, job: 1, pns: 1, platform: "adm")
        counts.leave(message: 1)
        let tables = (isSet ? counts.setWrites : counts.writes).map { statement in
            statement.text.firstMatch(of: #/(?:UPDATE|INTO|FROM) (\w+)/#).map { String($0.1) }
        }
        #expect(tables == ["message", "message", "delivery_count", "platform_count", "backlog"])
    }
}
