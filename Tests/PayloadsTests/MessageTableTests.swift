import Foundation
import PushModel
import Testing

@testable import Payloads

/// The table of docs/messages.md is the one of the code.
@Suite struct MessageTableTests {
    private static let documentation = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/messages.md")

    private static let head =
        "| member | \(ServiceFormat.all.map(\.service.descriptor.title).joined(separator: " | ")) |\n"
        + "| --- | \(ServiceFormat.all.map { _ in "---" }.joined(separator: " | ")) |\n"

    /// What every message has; `MessagePayloadTests` shows it.
    private static let always = [
        ["`title`", "`aps.alert.title`", "`notification.title`", "`<text>`", "`title`"],
        ["`body`", "`aps.alert.body`, or `aps.alert`", "`notification.body`", "`<text>`", "`body`"],
        ["`data`", "beside `aps`", "`data`", "`launch` of `<toast>`, or raw", "`data`"],
    ]

    private static var rows: String {
        let members = MessageMember.all.map { member in
            ["`\(member.name)`"]
                + ServiceFormat.all.map { format in member.places[format.service].map { "`\($0.name)`" } ?? "–" }
        }
        return (Self.always + members).map { "| \($0.joined(separator: " | ")) |\n" }.joined()
    }

    /// With `PUSHLINE_WRITE_DOCS=1` it writes the table instead.
    @Test func theDocumentationHasTheTable() throws {
        var text = try String(contentsOf: Self.documentation, encoding: .utf8)
        let start = try #require(text.range(of: Self.head)?.upperBound, "docs/messages.md has no table of members")
        let end = text.range(of: "\n\n", range: start..<text.endIndex)?.lowerBound ?? text.index(before: text.endIndex)
        // The last row's line break belongs to the table.
        let table = start..<text.index(after: end)
        guard text[table] != Self.rows else { return }
        if ProcessInfo.processInfo.environment["PUSHLINE_WRITE_DOCS"] == "1" {
            text.replaceSubrange(table, with: Self.rows)
            try text.write(to: Self.documentation, atomically: true, encoding: .utf8)
        } else {
            Issue.record("docs/messages.md has other members than the code: run this test with PUSHLINE_WRITE_DOCS=1")
        }
    }
}
