import PushModel
import Testing

/// What stands in the places of a list, as it is kept.
@Suite struct TargetTests {
    private static func expression(_ text: String) throws -> TagExpression {
        try TagExpression(parsing: text, .folded)
    }

    @Test func eachIsReadAsItWasKept() throws {
        let targets: [Target] = [
            .device(Handle(stored: String(repeating: "ab", count: 32))), .device(Handle(stored: "to")),
            .call(.everyone), .call(try Self.expression("news && !(muted || username:ann)")),
        ]
        for target in targets { #expect(try Target(stored: target.stored) == target) }
        #expect(Set(targets.map(\.stored)).count == targets.count)
    }

    @Test func aCallOfAnOlderVersionIsReadWithEachParenthesis() throws {
        let call = try Target(stored: "to tags (news && !muted) || username:ann")
        #expect(call == .call(try Self.expression("news && !muted || username:ann")))
    }

    @Test func aBatchSaysWhichOfItsNumbersAreCalls() throws {
        var devices = DeliverBatch.Devices()
        let targets: [Target] = [.call(.everyone), .device(Handle(stored: "to")), .call(try Self.expression("a || b"))]
        for (index, target) in targets.enumerated() {
            devices.rows.append(Int64(index))
            devices.handles.append(target.stored.utf8)
        }
        #expect(devices.rows.indices.map(devices.isCall) == [true, false, true])
        #expect(try devices.rows.indices.map { try devices.target(at: $0) } == targets)
    }

    @Test func anExpressionThatCannotBeReadIsNoDevice() {
        #expect(throws: InvalidValue.self) { try Target(stored: "to tags &&") }
    }
}
