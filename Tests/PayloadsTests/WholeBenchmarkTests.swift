import Foundation
import MessageSamples
import PushModel
import Testing

@testable import Payloads

/// The benchmark's message of all members is written by hand: it has what the table has.
@Suite struct WholeBenchmarkTests {
    /// The message in `Benchmarks/harness/whole.py`, a dictionary that is JSON but for Python's flags and commas.
    private static func whole() throws -> [JSONValue.Member] {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Benchmarks/harness/whole.py")
        let text = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(text.range(of: "WHOLE = ")?.upperBound)
        let json = text[start...].replacing("True", with: "true").replacing(/,(?=\s*[}\]])/, with: "")
        guard case .object(let members) = try JSONReader.read(Array(json.utf8)) else {
            throw InvalidValue("WHOLE is no object")
        }
        return members.flatMap { member in
            guard PushService(rawValue: member.name) != nil, case .object(let own) = member.value else {
                return [member]
            }
            return own.map { JSONValue.Member("\(member.name).\($0.name)", $0.value) }
        }
    }

    @Test func itHasEveryMemberThatCanStandBesideTheOthers() throws {
        let whole = try Self.whole()
        let names = Set(whole.map(\.name))
        #expect(names.count == whole.count)
        #expect(names == Set(MessageSample.together.map(\.name)))
        let members = try whole.compactMap { try MessageMember.named[$0.name]?.read($0.value) }
        #expect(members.count == whole.count - ["title", "body", "data"].count)
        #expect(!members.contains { $0.value == .bool(false) })
        try MessageRule.check(try #require(MessageMembers(members)))
        func dropped(_ members: [JSONValue.Member]) -> Int {
            let message = Content.Message(title: "t", members: MessageMembers(members))
            return MessageMember.warnings(of: .message(message), for: [.wns]).count
        }
        // Each of the others breaks a rule beside them, or takes the place of the toast, and so of members of the toast.
        for member in MessageMember.all where !names.contains(member.name) {
            let sample = try #require(MessageSample.named[member.name])
            let more = members + [JSONValue.Member(sample.name, sample.value)]
            let together = try #require(MessageMembers(more))
            if ["wns.tile", "wns.badge", "wns.raw"].contains(member.name) {
                #expect(dropped(more) > dropped(members), "\(member.name)")
            } else {
                #expect(throws: InvalidValue.self, "\(member.name)") { try MessageRule.check(together) }
            }
        }
    }
}
