/// A section of a file: a type whose properties are ``Setting``s.
package protocol SettingsSection: Sendable {
    init()

    /// Why keys of the section do not go together, with the key as its path; nil = they do.
    var fault: SettingFault? { get }
}

/// Keys that stand in a section, and in a property of their own.
package protocol SettingsGroup {
    var keys: [SettingKey] { get }
}

/// A key of a section.
package struct SettingKey {
    package let name: String
    package let setting: any AnySetting

    package init(_ name: String, _ setting: any AnySetting) {
        self.name = name
        self.setting = setting
    }
}

/// A section within another one, and the keys that lead to it from the key of its setting.
package struct SettingPart: Sendable {
    package let path: [String]
    package let section: any SettingsSection

    package init(_ section: any SettingsSection, at path: [String] = []) {
        self.path = path
        self.section = section
    }
}

extension SettingsSection {
    package var fault: SettingFault? { nil }

    /// A section that differs from the default.
    package init(_ change: (inout Self) throws -> Void) rethrows {
        self.init()
        try change(&self)
    }

    /// The section's keys, in the order of their declarations.
    package var keys: [SettingKey] {
        Mirror(reflecting: self).children.flatMap { label, value -> [SettingKey] in
            if let group = value as? any SettingsGroup { return group.keys }
            // The storage of a wrapped property `bodySize` is `_bodySize`.
            guard let label, let setting = value as? any AnySetting else { return [] }
            return [SettingKey(setting.words.name ?? SettingName.snakeCase(label.dropFirst()), setting)]
        }
    }

    /// Gives keys their values, in place: nobody else may have the section yet.
    ///
    /// - Parameters:
    ///   - node: What was written.
    ///   - others: Keys that are read elsewhere.
    /// - Throws: ``SettingFault`` for the first thing that is wrong.
    package func take(_ node: SettingNode, besides others: [String] = []) throws(SettingFault) {
        let keys = self.keys
        for entry in try node.entries where !others.contains(entry.key) {
            guard let key = keys.first(where: { $0.name == entry.key }) else {
                if node.origin == .store { continue }
                throw SettingFault.unknown(entry, among: keys.map(\.name) + others)
            }
            do throws(SettingFault) { try key.setting.take(entry.node) } catch { throw error.within(entry.key) }
        }
    }

    /// Looks whether all is there, and goes together.
    ///
    /// - Parameter node: What was written, for the places; nil = nothing.
    /// - Throws: ``SettingFault`` for the first thing that is wrong.
    package func check(_ node: SettingNode?) throws(SettingFault) {
        let place = node?.place ?? ""
        if let fault = self.fault {
            throw SettingFault(fault.reason, at: node?[fault.path]?.place ?? place, path: fault.path)
        }
        for key in self.keys {
            if key.setting.words.isRequired, key.setting.written == nil {
                throw SettingFault("is missing", at: place, path: key.name)
            }
            for part in key.setting.sections {
                let path = [key.name] + part.path
                let inner = path.reduce(node) { $0?[$1] }
                do throws(SettingFault) { try part.section.check(inner) } catch {
                    throw error.within(path.joined(separator: "."))
                }
            }
        }
    }

    /// The section as a file has it, defaults included.
    package var written: JSONValue {
        .object(self.keys.compactMap { key in key.setting.written.map { JSONValue.Member(key.name, $0) } })
    }
}

/// The names of keys.
enum SettingName {
    /// `bodySize` is `body_size`, and `managementURL` is `management_url`.
    static func snakeCase(_ name: some StringProtocol) -> String {
        zip(name, " " + name).reduce(into: "") { text, pair in
            let (character, previous) = pair
            if character.isUppercase, !previous.isUppercase, !text.isEmpty { text += "_" }
            text += character.lowercased()
        }
    }
}
