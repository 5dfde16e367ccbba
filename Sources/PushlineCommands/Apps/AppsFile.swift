import Foundation
import PushModel
import Yams

/// The file of `pushline apps apply`: apps by name.
struct AppsFile: Equatable {
    var apps: [AppID: AppSpec]

    /// Reads a file.
    ///
    /// Paths in it are relative to the file's folder. They are returned as absolute ones, because workers run in other
    /// folders.
    ///
    /// - Throws: ``AppsFileError``.
    static func read(_ path: String) throws -> AppsFile {
        let url = URL(filePath: path)
        let text: String
        do {
            text = try String(contentsOf: url, encoding: .utf8)
        } catch {
            guard FileManager.default.fileExists(atPath: url.path) else {
                throw AppsFileError("\(path): there is no such file; name the YAML file that declares the apps")
            }
            throw AppsFileError("\(path): cannot be read as UTF-8 text; name the YAML file that declares the apps")
        }
        return try Self.parse(text, file: path, folder: url.deletingLastPathComponent())
    }

    /// Reads the text of a file.
    static func parse(_ text: String, file: String, folder: URL) throws -> AppsFile {
        let node: Node?
        do {
            node = try Yams.compose(yaml: text)
        } catch YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _) {
            throw AppsFileError("\(file):\(mark.line): is not YAML: \(problem) in column \(mark.column)")
        } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
            throw AppsFileError("\(file):\(context.mark.line): \(keys.joined(separator: ", ")): is given twice")
        } catch {
            throw AppsFileError("\(file): is not YAML: \("\(error)".replacing("\n", with: " "))")
        }
        guard let node, node.tag != Yams.Tag(.null) else { throw AppsFileError("\(file): apps: is missing") }
        let root = try YAMLSection(node, file: file, path: "", known: ["apps"])
        guard let apps = try root.section("apps", known: nil) else { throw root.fault("apps", "is missing") }
        var found: [AppID: AppSpec] = [:]
        for name in apps.keys {
            let app: AppID
            do { app = try AppID(name) } catch { throw apps.fault(name, error.reason) }
            guard let section = try apps.section(name, known: AppSpec.keys) else { continue }
            found[app] = try AppSpec(section, folder: folder)
        }
        guard !found.isEmpty else { throw root.fault("apps", "names no app") }
        return AppsFile(apps: found)
    }
}
