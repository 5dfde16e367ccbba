import Foundation
import PushModel
import Testing

/// The tags that the product itself gives a meaning: one list of them, which everything goes by.
@Suite struct OwnedTagTests {
    @Test(arguments: PushModel.Tag.Owned.allCases) func ownedTagsAreRecognizedInAnyLetterCase(
        owned: PushModel.Tag.Owned
    )
        throws
    {
        let longest = try UserName(String(repeating: "u", count: 111), .folded)
        let made = PushModel.Tag(owned, of: longest)
        let own = try #require(made)
        #expect(try PushModel.Tag(own.name, .folded) == own)
        let longer = PushModel.Tag(owned, of: try UserName(String(repeating: "u", count: 112), .folded))
        #expect(longer == nil)
        for prefix in [owned.rawValue, owned.rawValue.uppercased(), owned.rawValue.capitalized] {
            #expect(try PushModel.Tag("\(prefix)Bob", .folded).owned == owned)
            // Also where no user can be called so.
            #expect(try PushModel.Tag(prefix, .folded).owned == owned)
            #expect(try PushModel.Tag("x\(prefix)bob", .folded).owned == nil)
            #expect(try PushModel.Tag("\(prefix.dropLast())", .folded).owned == nil)
        }
    }

    /// A tag that is made of a beginning and something else has a meaning: its beginning is to come from the list.
    @Test func ownedTagsAreMadeInOneFileOnly() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let sources = root.appending(path: "Sources")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        let composed = try Regex(#"\bTag\((stored: )?(try )?[^()]*("[^"]*\\\(|"\s*\+|\+\s*")"#)
        let literals = PushModel.Tag.Owned.allCases.map { "\"\($0.rawValue)" }
        var count = 0
        for case let file as URL in files where file.pathExtension == "swift" {
            guard file.lastPathComponent != "Tag.swift" else { continue }
            count += 1
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let code = line.trimmingCharacters(in: .whitespaces)
                guard !code.hasPrefix("//") else { continue }
                #expect(try composed.firstMatch(in: code) == nil, "\(file.lastPathComponent): \(code)")
                let literal = literals.first { code.contains($0) }
                #expect(literal == nil, "\(file.lastPathComponent): \(code)")
            }
        }
        #expect(count > 200)
        // It would see one.
        #expect(try composed.firstMatch(in: #"let to = try Tag("to:\(name)")"#) != nil)
        #expect(try composed.firstMatch(in: #"let to = try Tag("to:" + name)"#) != nil)
    }
}
