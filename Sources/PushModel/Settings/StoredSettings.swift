/// Settings as the store has them: the JSON of ``SettingsSection/written``.
package struct StoredSettings: Codable, Sendable {
    package let value: JSONValue

    package init(_ value: JSONValue) { self.value = value }

    /// What a section takes.
    package var node: SettingNode { Self.node(self.value) }

    private static func node(_ value: JSONValue) -> SettingNode {
        switch value {
        case .object(let members):
            let entries = members.map { SettingNode.Entry(key: $0.name, place: "", node: self.node($0.value)) }
            return SettingNode(.section(entries), from: .store)
        case .array(let values): return SettingNode(.list(values.map(self.node)), from: .store)
        case .string(let text): return self.scalar(text, isQuoted: true)
        case .number(let text): return self.scalar(text)
        case .bool(let flag): return self.scalar("\(flag)", isText: false)
        case .null, .written: return self.scalar("", isText: false)
        }
    }

    private static func scalar(_ text: String, isQuoted: Bool = false, isText: Bool = true) -> SettingNode {
        SettingNode(.scalar(SettingScalar(text: text, isQuoted: isQuoted, isText: isText)), from: .store)
    }

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            self.value = .object(
                try members.allKeys.map {
                    JSONValue.Member($0.stringValue, try members.decode(StoredSettings.self, forKey: $0).value)
                }
            )
            return
        }
        if var list = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !list.isAtEnd { values.append(try list.decode(StoredSettings.self).value) }
            self.value = .array(values)
            return
        }
        let single = try decoder.singleValueContainer()
        if single.decodeNil() {
            self.value = .null
        } else if let flag = try? single.decode(Bool.self) {
            self.value = .bool(flag)
        } else if let number = try? single.decode(Int.self) {
            self.value = .integer(number)
        } else {
            self.value = .string(try single.decode(String.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self.value {
        case .object(let members):
            var container = encoder.container(keyedBy: Name.self)
            for member in members {
                try container.encode(StoredSettings(member.value), forKey: Name(stringValue: member.name))
            }
        case .array(let values):
            var container = encoder.unkeyedContainer()
            for value in values { try container.encode(StoredSettings(value)) }
        case .bool(let flag): try Self.encode(flag, to: encoder)
        case .number(let text): try Self.encode(Int(text), to: encoder)
        case .string(let text): try Self.encode(text, to: encoder)
        case .null, .written: try Self.encode(String?.none, to: encoder)
        }
    }

    private static func encode(_ value: some Encodable, to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
