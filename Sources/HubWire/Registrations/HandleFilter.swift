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
    /// The property's name does not matter, because official clients say `ChannelUri` for every platform. Of Baidu's and a
    /// browser's several parts there is no stored form.
    ///
    /// - Parameter text: The parameter, decoded once.
    /// - Throws: ``InvalidValue``.
    package init(_ text: String) throws(InvalidValue) {
        guard let parts = text.wholeMatch(of: /\s*([A-Za-z0-9]+)\s+(?i:eq)\s+'((?:[^']|'')*)'\s*/) else {
            throw InvalidValue(
                member: "$filter",
                "must be a property of a handle and its value, as in ChannelUri eq '…'"
            )
        }
        let known = Set(WirePlatform.allCases.flatMap(\.handleElements).map { $0.lowercased() })
        guard known.contains(parts.1.lowercased()) else {
            throw InvalidValue(member: "$filter", "\"\(parts.1.prefix(40))\" is no property of a handle")
        }
        let value = String(parts.2.replacing("''", with: "'"))
        guard (1...Handle.maximumLength).contains(value.utf8.count) else {
            throw InvalidValue(member: "$filter", "a handle must have 1 to \(Handle.maximumLength) bytes")
        }
        var forms = Handle.lookupForms(of: value)
        // A channel's address may have been encoded once more.
        if value.contains("%"), let decoded = PercentCoding.decode(value[...], plusIsSpace: false), decoded != value {
            forms += Handle.lookupForms(of: decoded)
        }
        self.handles = forms
    }
}
