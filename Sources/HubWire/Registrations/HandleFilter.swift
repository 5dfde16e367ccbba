package import PushModel

/// `$filter` of a list of registrations: those with a handle.
package struct HandleFilter: Sendable, Equatable {
    /// The forms under which the handle may be stored.
    package let handles: [Handle]

    /// The filter for the registrations of a handle, with the names that official clients give to its parts.
    ///
    /// - Parameters:
    ///   - platform: The platform.
    ///   - parts: The parts of the handle, as ``WirePlatform/handleElements`` names them.
    /// - Returns: The parameter, not yet encoded.
    package static func text(_ platform: WirePlatform, _ parts: [String]) -> String {
        // Of one part it is `ChannelUri` on every platform: so the real service was recorded.
        let names = platform.handleElements.count == 1 ? ["ChannelUri"] : platform.handleElements
        return zip(names, parts).filter { !$0.1.isEmpty }.map { name, part in
            "\(name) eq '\(platform == .apple ? part.uppercased() : part.replacing("'", with: "''"))'"
        }.joined(separator: " and ")
    }

    /// Reads `DeviceToken eq '…'` and its like.
    ///
    /// The property's name does not matter, because official clients say `ChannelUri` for every platform; but for a browser's three
    /// parts. Of Baidu's two there is no stored form.
    ///
    /// - Parameter text: The parameter, decoded once.
    /// - Throws: ``InvalidValue``.
    package init(_ text: String) throws(InvalidValue) {
        let properties = try Self.properties(of: text)
        var forms: [Handle] = []
        if properties.count == 1 {
            forms = try Self.forms(of: properties[0].value)
        } else {
            let parts = WirePlatform.browser.handleElements.map { name in
                properties.first { $0.name == name.lowercased() }?.value ?? ""
            }
            guard properties.count == 3, !parts.contains("") else {
                throw InvalidValue(
                    member: "$filter",
                    "must be one property, or a browser's three: Endpoint, P256DH and Auth"
                )
            }
            do { forms = [Handle(stored: try BrowserHandle.text(of: parts))] } catch {
                // An address may have been encoded once more.
                guard let decoded = PercentCoding.decode(parts[0][...], plusIsSpace: false) else {
                    throw error.named("$filter")
                }
                do { forms = [Handle(stored: try BrowserHandle.text(of: [decoded] + parts[1...]))] } catch {
                    throw error.named("$filter")
                }
            }
        }
        self.handles = forms
    }

    /// The properties by names in lower case, and their values.
    private static func properties(of text: String) throws(InvalidValue) -> [(name: String, value: String)] {
        let known = Set(WirePlatform.allCases.flatMap(\.handleElements).map { $0.lowercased() })
        var properties: [(name: String, value: String)] = []
        var rest = text[...].trimming()
        while true {
            guard properties.count < 3,
                let parts = rest.prefixMatch(of: /([A-Za-z0-9]+)\s+(?i:eq)\s+'((?:[^']|'')*)'\s*/)
            else {
                throw InvalidValue(
                    member: "$filter",
                    "must be a property of a handle and its value, as in ChannelUri eq '…'"
                )
            }
            let name = parts.1.lowercased()
            guard known.contains(name) else {
                throw InvalidValue(member: "$filter", "\"\(parts.1.prefix(40))\" is no property of a handle")
            }
            let value = String(parts.2.replacing("''", with: "'"))
            guard (1...WrittenDevice.longestChannel).contains(value.utf8.count) else {
                throw InvalidValue(member: "$filter", "a handle must have 1 to \(WrittenDevice.longestChannel) bytes")
            }
            properties.append((name, value))
            rest = rest[parts.range.upperBound...]
            guard !rest.isEmpty else { return properties }
            guard let and = rest.prefixMatch(of: /(?i:and)\s+/) else {
                throw InvalidValue(member: "$filter", "only \"and\" may follow a value")
            }
            rest = rest[and.range.upperBound...]
        }
    }

    private static func forms(of value: String) throws(InvalidValue) -> [Handle] {
        // A channel may have been encoded once more.
        let decoded = value.contains("%") ? PercentCoding.decode(value[...], plusIsSpace: false) ?? value : value
        // A browser's is what official clients give for its handle.
        for text in [value, decoded] where text.hasPrefix("{") {
            do { return [Handle(stored: try BrowserHandle.text(ofChannel: text))] } catch {
                throw error.named("$filter")
            }
        }
        return Handle.lookupForms(of: value) + (decoded == value ? [] : Handle.lookupForms(of: decoded))
    }
}
