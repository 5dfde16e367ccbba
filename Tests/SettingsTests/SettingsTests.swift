import Foundation
import PushModel
import Testing

@testable import Settings

/// What stands of keys outside their declarations.
@Suite struct SettingsTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// `PUSHLINE_WRITE_DOCS=1` writes it instead.
    private func check(_ wanted: String, in file: String, after head: String? = nil) throws {
        let url = Self.root.appending(path: file)
        var text = try String(contentsOf: url, encoding: .utf8)
        var place = text.startIndex..<text.endIndex
        if let head {
            let start = try #require(text.range(of: head)?.upperBound, "\(file) has no table: \(head)")
            let end = text.range(of: "\n\n", range: start..<text.endIndex).map { text.index(after: $0.lowerBound) }
            place = start..<(end ?? text.endIndex)
        }
        guard text[place] != wanted else { return }
        if ProcessInfo.processInfo.environment["PUSHLINE_WRITE_DOCS"] == "1" {
            text.replaceSubrange(place, with: wanted)
            try text.write(to: url, atomically: true, encoding: .utf8)
        } else {
            Issue.record("\(file) has other keys than the code: run this test with PUSHLINE_WRITE_DOCS=1")
        }
    }

    @Test func filesAndDocumentsAreWrittenFromTheSources() throws {
        try self.check(ConfigurationText.configuration, in: "Config/pushline.yaml")
        try self.check(ConfigurationText.apps, in: "Config/apps.example.yaml")
        let document = "docs/settings.md"
        try self.check(SettingsTables.configuration, in: document, after: SettingsTables.configurationHead)
        try self.check(SettingsTables.apps, in: document, after: SettingsTables.appsHead)
    }

    /// What is not a comment in it is a declaration.
    @Test func theExampleOfAppsIsValid() throws {
        let folder = URL(filePath: "/srv/push/")
        let root = try YAMLFile.parse(ConfigurationText.apps, file: "apps.yaml", folder: folder)
        let spec = try AppSpec(reading: try #require(root["apps"]?["default"]))
        #expect(spec.services == [.apns, .fcm, .wns, .web])
        #expect(spec.apns?.keyFile == "/srv/push/secrets/AuthKey_ABC1234567.p8")
        let rest = AppSpec {
            $0.credentials = spec.credentials
        }
        #expect(spec == rest, "but for credentials, the example says the defaults")
    }

    /// Without its marks of comments, with one hub, one way to APNs and one key set.
    @Test func theCommentsOfTheExampleAreValidToo() throws {
        let lines = ConfigurationText.apps.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix("    authentication:") })
        let body = lines[start...].map { line in
            let text = line.drop { $0 == " " }
            let isKey = text.wholeMatch(of: /# [a-z_]+:( .*)?/) != nil && line.prefix { $0 == " " }.count < 20
            return isKey ? line.prefix { $0 == " " } + text.dropFirst(2) : line
        }
        let text = (["apps:", "  default:"] + body).joined(separator: "\n")
            .replacing("    hub: embedded", with: "    #")
        let root = try YAMLFile.parse(text, file: "apps.yaml", folder: URL(filePath: "/srv/push/"))
        let spec = AppSpec()
        try spec.take(try #require(root["apps"]?["default"]))
        // Every key has a value then.
        for key in spec.keys { #expect(key.setting.written != nil, "\(key.name)") }
        for part in spec.keys.flatMap({ $0.setting.sections }) {
            for key in part.section.keys { #expect(key.setting.written != nil, "\(key.name)") }
        }
    }

    // MARK: What people have written

    /// Files of a folder, or one by itself; what is not a text has no names of ours.
    private static func texts(_ folders: [String]) throws -> [(file: String, text: String)] {
        try folders.flatMap { folder -> [(String, String)] in
            let url = Self.root.appending(path: folder)
            let isFolder = try url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory == true
            let names =
                isFolder
                ? try FileManager.default.subpathsOfDirectory(atPath: url.path).map { "\(folder)/\($0)" } : [folder]
            let found = names.compactMap { name in
                (try? String(contentsOf: Self.root.appending(path: name), encoding: .utf8)).map { (name, $0) }
            }
            try #require(!found.isEmpty, "there is no \(folder)")
            return found
        }
    }

    private static let rows = Dictionary(uniqueKeysWithValues: PushlineConfiguration.rows.map { ($0.name, $0) })

    /// Such as `api.port`, and `api.port` (8080): a key that there is, with the default that it has.
    @Test func documentsNameKeysThatThereAre() throws {
        let sections = PushlineConfiguration().keys.map(\.name)
        // An app has a section of the same name.
        var others = AppSpec().api.keys.map { "api.\($0.name)" }
        // Fields of the log, which another test holds to the source.
        others += ["broker.address", "broker.alarm", "broker.role", "simulator.control"]
        var seen = 0
        for (file, text) in try Self.texts(["docs", "README.md"]) {
            for match in text.matches(of: /`([a-z]+)\.([a-z_]+)`(?: \(([0-9]+)\))?/)
            where sections.contains(String(match.1)) {
                let name = "\(match.1).\(match.2)"
                let row = Self.rows[name]
                #expect(row != nil || others.contains(name), "\(file): \(name) is no key")
                guard let value = match.3 else { continue }
                seen += 1
                #expect(row?.setting.written?.compactText == String(value), "\(file): \(name)")
            }
        }
        #expect(seen > 3)
    }

    /// Variables that override keys, in documents and scripts.
    @Test func scriptsNameVariablesThatThereAre() throws {
        let prefixes = PushlineConfiguration().keys.map { "PUSHLINE_\($0.name.uppercased())_" }
        for (file, text) in try Self.texts(["docs", "README.md", "deploy", "Examples", "Tests/Scripts"]) {
            for match in text.matches(of: /PUSHLINE_[A-Z_]*[A-Z]/)
            where prefixes.contains(where: { match.0.hasPrefix($0) }) {
                let unknown = PushlineConfiguration.unknownVariables(in: [String(match.0): ""])
                #expect(unknown == [], "\(file)")
            }
        }
    }

    /// The limits in docs/security.md, which say keys' defaults in people's words.
    @Test func theLimitsAreTheDefaults() throws {
        let text = try String(contentsOf: Self.root.appending(path: "docs/security.md"), encoding: .utf8)
        var seen = 0
        for line in text.split(separator: "\n") where line.hasPrefix("| ") {
            for match in line.matches(of: /`([a-z]+\.[a-z_]+)`/) {
                guard let row = Self.rows[String(match.1)], let words = Self.words(row.setting) else { continue }
                seen += 1
                let isSaid = words.contains { line.contains($0) }
                #expect(isSaid, "\(match.1): none of \(words.joined(separator: ", ")) in: \(line)")
            }
        }
        #expect(seen > 8)
    }

    /// A number as people write it.
    private static func words(_ setting: any AnySetting) -> [String]? {
        guard case .number(let text)? = setting.written, let number = Int(text) else { return nil }
        var words = [text, number.formatted(.number.locale(Locale(identifier: "en_US")))]
        for (unit, size) in [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)] where number % size == 0 {
            words.append("\(number / size) \(unit)")
        }
        if number % 86_400 == 0 { words.append("\(number / 86_400) days") }
        return words
    }
}
