import Foundation
import Testing

/// What documents show of the client library is compiled, in `DocumentedSnippets.swift`.
@Suite struct DocumentedSnippetsTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test(arguments: [
        "docs/client.md", "docs/clients.md", "Sources/PushlineClient/PushlineClient.swift",
        "Sources/PushlineClient/App/DeviceRegistration.swift",
    ])
    func shownCodeIsCompiled(document: String) throws {
        let snippets = Self.lines(of: try Self.text("Tests/PushlineClientTests/DocumentedSnippets.swift"))
        let text = try Self.text(document).replacing(/(?m)^\/\/\/ ?/, with: "")
        let shown = text.matches(of: /(?s)```swift\n(.*?)```/).map { Self.lines(of: String($0.1)) }
            // A line of a manifest is not code of an app.
            .filter { $0.first?.hasPrefix(".package(") == false }
        #expect(!shown.isEmpty)
        for code in shown {
            let isThere = snippets.indices.contains { snippets[$0...].starts(with: code) }
            #expect(isThere, "\(document) shows what is not compiled: \(code.first ?? "")")
        }
    }

    /// The lines, without indentation, empty lines and imports.
    private static func lines(of text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }
}
