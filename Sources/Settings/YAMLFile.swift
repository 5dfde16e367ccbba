package import Foundation
package import PushModel
import Yams

/// Reads YAML: the configuration, and the declarations of apps.
package enum YAMLFile {
    /// Reads a file.
    ///
    /// - Parameter path: As it was given, for messages.
    /// - Returns: What is in it; paths in it are relative to its folder.
    /// - Throws: `SettingFault`.
    package static func read(_ path: String) throws(SettingFault) -> SettingNode {
        let url = URL(filePath: path).absoluteURL
        guard let text = try? String(contentsOf: url, encoding: .utf8) else {
            let isThere = FileManager.default.fileExists(atPath: url.path(percentEncoded: false))
            throw SettingFault(isThere ? "cannot be read as UTF-8 text" : "there is no such file", at: path)
        }
        return try Self.parse(text, file: path, folder: url.deletingLastPathComponent())
    }

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - file: The file's name, for messages.
    ///   - folder: Where relative paths start from.
    /// - Returns: What is in it.
    /// - Throws: `SettingFault`.
    package static func parse(_ text: String, file: String, folder: URL) throws(SettingFault) -> SettingNode {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _) {
            throw SettingFault("is not YAML: \(problem) in column \(mark.column)", at: "\(file):\(mark.line)")
        } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
            throw SettingFault("\(keys.joined(separator: ", ")): is given twice", at: "\(file):\(context.mark.line)")
        } catch {
            throw SettingFault("is not YAML: \("\(error)".replacing("\n", with: " "))", at: file)
        }
        let reader = Reader(file: file, folder: folder)
        guard let root else { return SettingNode(.section([]), from: .person(at: file)) }
        return try reader.node(root)
    }

    private struct Reader {
        let file: String
        let folder: URL

        func place(_ node: Node) -> String { node.mark.map { "\(self.file):\($0.line)" } ?? self.file }

        func node(_ node: Node) throws(SettingFault) -> SettingNode {
            let origin = SettingNode.Origin.person(at: self.place(node))
            switch node {
            case .scalar(let scalar): return SettingNode(.scalar(self.scalar(scalar, node.tag)), from: origin)
            case .sequence(let sequence):
                var values: [SettingNode] = []
                for value in sequence { values.append(try self.node(value)) }
                return SettingNode(.list(values), from: origin)
            case .mapping(let mapping):
                var entries: [SettingNode.Entry] = []
                for (key, value) in mapping {
                    guard let name = key.scalar?.string else {
                        throw SettingFault("a key must be a word", at: self.place(key))
                    }
                    entries.append(.init(key: name, place: self.place(key), node: try self.node(value)))
                }
                return SettingNode(.section(entries), from: origin)
            case .alias: throw SettingFault("aliases are not supported", at: self.place(node))
            }
        }

        private func scalar(_ scalar: Node.Scalar, _ tag: Yams.Tag) -> SettingScalar {
            let text = tag == Yams.Tag(.null) ? "" : scalar.string
            let isText = [Yams.Tag.Name.str, .int, .float, .timestamp].contains { tag == Yams.Tag($0) }
            let isQuoted = scalar.style != .plain && scalar.style != .any
            return SettingScalar(text: text, isQuoted: isQuoted, isText: isText, path: self.path(text))
        }

        /// Relative to the file's folder, so that processes and tools find it from wherever they start.
        private func path(_ text: String) -> String {
            let url = URL(filePath: text, relativeTo: self.folder)
            return text.isEmpty ? "" : url.standardizedFileURL.path(percentEncoded: false)
        }
    }
}
