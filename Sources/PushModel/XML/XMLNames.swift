/// What XML and its namespaces ask of names.
enum XMLNames {
    /// A name that breaks a rule.
    struct Fault: Error {
        let reason: String
    }

    /// The most prefixes that hold for an element.
    private static let maximumPrefixes = 64

    /// Whether a text is a name (XML 1.0, section 2.3).
    static func isName(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, self.begins(first) else { return false }
        return text.unicodeScalars.allSatisfy(self.continues)
    }

    private static func begins(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x3A, 0x41...0x5A, 0x5F, 0x61...0x7A, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2FF, 0x370...0x37D,
            0x37F...0x1FFF, 0x200C...0x200D, 0x2070...0x218F, 0x2C00...0x2FEF, 0x3001...0xD7FF, 0xF900...0xFDCF,
            0xFDF0...0xFFFD, 0x10000...0xEFFFF:
            true
        default: false
        }
    }

    /// Whether a character may stand in a name behind the first.
    static func continues(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x2D, 0x2E, 0x30...0x39, 0xB7, 0x300...0x36F, 0x203F...0x2040: true
        default: self.begins(scalar)
        }
    }

    /// The namespaces that hold for an element, by their prefixes.
    ///
    /// - Parameters:
    ///   - attributes: The element's attributes, some of which may declare further ones.
    ///   - outer: Those that hold above it.
    /// - Returns: All of them.
    /// - Throws: ``Fault`` for a prefix that cannot be declared.
    static func namespaces(
        of attributes: [XMLTree.Attribute],
        within outer: [String: String]
    ) throws(Fault) -> [String: String] {
        var namespaces = outer
        for attribute in attributes where attribute.name.utf8.starts(with: "xmlns:".utf8) {
            let prefix = String(decoding: attribute.name.utf8.dropFirst(6), as: UTF8.self)
            guard !prefix.isEmpty, !attribute.value.isEmpty, prefix != "xmlns",
                prefix != "xml" || attribute.value == outer["xml"]
            else { throw Fault(reason: "\(attribute.name.prefix(40)) cannot be declared so") }
            namespaces[prefix] = attribute.value
            // Each element that declares one has a copy of all that hold for it.
            guard namespaces.count <= Self.maximumPrefixes else {
                throw Fault(reason: "more than \(Self.maximumPrefixes) prefixes are declared")
            }
        }
        return namespaces
    }

    /// Checks that prefixes are declared, and that no attribute is given twice.
    ///
    /// - Parameters:
    ///   - name: The element's name.
    ///   - attributes: Its attributes.
    ///   - namespaces: Those that hold for it.
    /// - Throws: ``Fault``.
    static func check(
        _ name: String,
        _ attributes: [XMLTree.Attribute],
        _ namespaces: [String: String]
    ) throws(Fault) {
        _ = try self.expanded(name, namespaces)
        var known: Set<[[UInt8]]> = []
        for attribute in attributes {
            let isDeclaration = attribute.name.utf8.starts(with: "xmlns:".utf8)
            let parts = isDeclaration ? [attribute.name] : try self.expanded(attribute.name, namespaces)
            guard known.insert(parts.map { Array($0.utf8) }).inserted else {
                throw Fault(reason: "the attribute \(attribute.name.prefix(40)) is given twice")
            }
        }
    }

    /// A name with the namespace of its prefix, if it has one.
    private static func expanded(_ name: String, _ namespaces: [String: String]) throws(Fault) -> [String] {
        guard let colon = name.utf8.firstIndex(of: UInt8(ascii: ":")) else { return [name] }
        let (prefix, local) = (String(name[..<colon]), String(name[name.utf8.index(after: colon)...]))
        guard self.isName(local), !local.utf8.contains(UInt8(ascii: ":")), let namespace = namespaces[prefix] else {
            throw Fault(reason: "the prefix of \(name.prefix(40)) is not declared")
        }
        return [namespace, local]
    }
}
