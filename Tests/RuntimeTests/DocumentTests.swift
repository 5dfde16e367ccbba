import Foundation
import Testing

/// What the documents refer to is there: pages, their sections, and places in the sources.
@Suite struct DocumentTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// The paths of a folder's files, from that folder on.
    private static func files(of folder: String, _ suffix: String) throws -> [String] {
        let path = Self.root.appending(path: folder).path
        return try #require(FileManager.default.enumerator(atPath: path)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(suffix) }
    }

    // MARK: Links

    private static var pages: [String] {
        get throws {
            try ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Examples/iOS/README.md", "FuzzTesting/README.md"]
                + Self.files(of: "docs", ".md").map { "docs/\($0)" }
        }
    }

    /// The lines of a page, without what is code.
    private static func lines(of text: String) -> [Substring] {
        var isCode = false
        return text.split(separator: "\n").filter { line in
            let isFence = line.trimmingPrefix(while: \.isWhitespace).hasPrefix("```")
            if isFence { isCode.toggle() }
            return !isCode && !isFence
        }
    }

    /// The anchors of its headings, as GitHub makes them.
    private static func anchors(of text: String) -> Set<String> {
        Set(
            Self.lines(of: text).compactMap { line -> String? in
                guard let heading = line.wholeMatch(of: /(#+) (.+)/) else { return nil }
                let words = heading.2.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) }
                return words.replacing(" ", with: "-")
            }
        )
    }

    @Test func linksLeadToPagesAndSectionsThatThereAre() throws {
        let pages = try Self.pages
        var anchors: [String: Set<String>] = [:]
        for page in pages { anchors[page] = Self.anchors(of: try Self.text(page)) }
        var seen = 0
        for page in pages {
            let folder = Self.root.appending(path: page).deletingLastPathComponent()
            for link in try Self.text(page).matches(of: /\]\(([^)\s]+)\)/).map({ String($0.1) })
            where !link.contains("://") {
                seen += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let file = parts[0].isEmpty ? page : Self.relative(folder.appending(path: String(parts[0])))
                let path = try #require(file, "\(page): \(link)")
                let there = FileManager.default.fileExists(atPath: Self.root.appending(path: path).path)
                #expect(there, "\(page): \(link)")
                guard parts.count > 1, let known = anchors[path] else { continue }
                #expect(known.contains(String(parts[1])), "\(page): \(link)")
            }
        }
        #expect(seen > 300)
    }

    /// A file's path from the root on; nil = it is elsewhere.
    private static func relative(_ file: URL) -> String? {
        let (path, root) = (file.standardizedFileURL.path, Self.root.standardizedFileURL.path)
        return path.hasPrefix(root + "/") ? String(path.dropFirst(root.count + 1)) : nil
    }

    // MARK: Sources

    /// The text of each source, by its path.
    private static var sources: [String: String] {
        get throws {
            try Self.files(of: "Sources", ".swift").reduce(into: [:]) { sources, file in
                sources[file] = try Self.text("Sources/\(file)")
            }
        }
    }

    /// Each way through the code, and at how many functions it may be looked at.
    @Test(arguments: [
        ("One send", 40), ("One registration through a hub's wire", 15), ("One call of an app with an Azure hub", 9),
    ])
    func theWalkNamesFunctionsThatThereAre(way: String, most: Int) throws {
        let sources = try Self.sources
        let parts = try Self.text("docs/walk.md").components(separatedBy: "\n## ")
        let part = try #require(parts.first { $0.hasPrefix(way + "\n") })
        let hops = part.matches(of: /(?m)^\| (\d+) \| ([\w\/+]+): `([\w.]+)` \|/)
        #expect(hops.compactMap { Int($0.1) } == Array(1...most))
        for hop in hops {
            let file = sources.first { "/\($0.key)".hasSuffix("/\(hop.2).swift") }
            let text = try #require(file, "\(hop.0)").value
            let name = try #require(hop.3.split(separator: ".").last)
            let forms = ["func \(name)(", "func \(name)<", "var \(name)"]
            #expect(forms.contains { text.contains($0) }, "\(hop.0)")
        }
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    @Test func theTableOfTargetsHasEachModule() throws {
        let text = try Self.text("docs/architecture.md")
        let modules = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path)
        #expect(modules.count > 30)
        // The programs have one row.
        for module in modules where !module.hasPrefix("pushline") && !module.hasPrefix(".") {
            #expect(text.contains("`\(module)`"), "\(module)")
        }
    }

    @Test func theTableOfPlacesNamesWhatThereIs() throws {
        let sources = try Self.sources
        let folders = Set(sources.keys.map { String($0.prefix(upTo: $0.lastIndex(of: "/") ?? $0.startIndex)) })
        // Of what there is, and of its files.
        let words = sources.reduce(into: Set<String>()) { words, source in
            let text = source.key + source.value
            words.formUnion(text.utf8.split { !Self.isOfWord($0) }.map { String(Substring($0)) })
        }
        let rows = try Self.text("docs/architecture.md").matches(of: /(?m)^\| ([^|]+\?) \| `([^`]+)` \| (.*) \|$/)
        #expect(rows.count > 30)
        for row in rows {
            let path = Self.root.appending(path: "Sources").appending(path: String(row.2)).path
            #expect(FileManager.default.fileExists(atPath: path), "\(row.0)")
            for name in row.3.matches(of: /`([A-Z]\w+)(\.\w+)?`/).map({ String($0.1) }) {
                #expect(words.contains(name) || folders.contains(name), "\(name) in \(row.0)")
            }
        }
    }
}
