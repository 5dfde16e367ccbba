import Foundation
import PushModel
import Settings

/// The file of `pushline apps apply`: apps by name.
struct AppsFile: Equatable {
    var apps: [AppID: AppSpec]

    /// Reads a file.
    ///
    /// Paths in it are relative to the file's folder. They are returned as absolute ones, because workers run in other
    /// folders.
    ///
    /// - Throws: `SettingFault`.
    static func read(_ path: String) throws(SettingFault) -> AppsFile { try AppsFile(YAMLFile.read(path)) }

    init(_ root: SettingNode) throws(SettingFault) {
        for entry in try root.entries where entry.key != Self.key {
            throw SettingFault.unknown(entry, among: [Self.key])
        }
        guard let node = root[Self.key] else { throw SettingFault("is missing", at: root.place, path: Self.key) }
        self.apps = [:]
        do throws(SettingFault) {
            for entry in try node.entries { self.apps[try Self.name(entry)] = try Self.spec(entry) }
            if self.apps.isEmpty { throw SettingFault("names no app", at: node.place) }
        } catch {
            throw error.within(Self.key)
        }
    }

    /// All that a file has.
    private static let key = "apps"

    private static func name(_ entry: SettingNode.Entry) throws(SettingFault) -> AppID {
        do throws(InvalidValue) { return try AppID(entry.key) } catch {
            throw SettingFault(error.reason, at: entry.place, path: entry.key)
        }
    }

    private static func spec(_ entry: SettingNode.Entry) throws(SettingFault) -> AppSpec {
        do throws(SettingFault) { return try AppSpec(reading: entry.node) } catch { throw error.within(entry.key) }
    }
}
