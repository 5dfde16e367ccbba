package import PushModel

/// Where a hub is and with which rule: `Endpoint=sb://host/;SharedAccessKeyName=…;SharedAccessKey=…`.
package struct ConnectionString: Sendable, Equatable {
    /// Host and, unless it is the usual one, port.
    package let authority: String
    /// The name of the rule.
    package let rule: String
    /// The key as it is written: its text signs, not the bytes that it stands for.
    package let key: String

    package init(authority: String, rule: String, key: String) {
        self.authority = authority
        self.rule = rule
        self.key = key
    }

    /// Reads a connection string as the most tolerant of the official clients do.
    ///
    /// - Throws: ``InvalidValue`` that names the part and never shows a value.
    package init(_ text: String) throws(InvalidValue) {
        var values: [String: String] = [:]
        for part in text.split(whereSeparator: { $0 == ";" || $0.isNewline }) {
            let trimmed = part.trimming()
            guard !trimmed.isEmpty else { continue }
            guard let equals = trimmed.firstIndex(of: "=") else {
                throw InvalidValue("a connection string has parts such as Endpoint=sb://host/, divided by semicolons")
            }
            let name = trimmed[..<equals].lowercased()
            let value = String(trimmed[trimmed.index(after: equals)...])
            guard !value.isEmpty else { throw InvalidValue(member: name, "has no value") }
            guard values.updateValue(value, forKey: name) == nil else {
                throw InvalidValue(member: name, "is given twice")
            }
        }
        guard let endpoint = values["endpoint"] else { throw InvalidValue(member: "Endpoint", "is missing") }
        guard let rule = values["sharedaccesskeyname"] else {
            throw InvalidValue(member: "SharedAccessKeyName", "is missing")
        }
        guard let key = values["sharedaccesskey"] else { throw InvalidValue(member: "SharedAccessKey", "is missing") }
        guard let authority = Self.authority(endpoint) else {
            throw InvalidValue(member: "Endpoint", "must be sb://host/ or https://host/, with a port if it is not 443")
        }
        self.init(authority: authority, rule: rule, key: key)
    }

    private static func authority(_ endpoint: String) -> String? {
        let lower = endpoint.lowercased()
        guard let scheme = ["sb://", "https://"].first(where: { lower.hasPrefix($0) }) else { return nil }
        let rest = lower.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        guard !authority.isEmpty, rest.dropFirst(authority.count).allSatisfy({ $0 == "/" }),
            authority.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"@?#\\".utf8.contains($0) })
        else { return nil }
        return String(authority)
    }

    /// The address of the hubs, for requests.
    package var endpoint: String { "https://\(self.authority)/" }

    /// The text in the form that every official client reads: the scheme `sb`, a slash at the end, the parts in this order.
    package var text: String {
        "Endpoint=sb://\(self.authority)/;SharedAccessKeyName=\(self.rule);SharedAccessKey=\(self.key)"
    }
}
