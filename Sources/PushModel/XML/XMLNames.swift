/// What XML and its namespaces ask of names.
enum XMLNames {
    /// A name that breaks a rule.
    struct Fault: Error {
        let reason: String
    }

    /// The namespaces of a document, each with a number: an address may be long, and each attribute is compared by it.
    struct Namespaces {
        private var numbers: [[UInt8]: Int] = [:]

        /// The number of a namespace, given now if need be.
        mutating func number(of address: String) -> Int {
            let (bytes, next) = (Array(address.utf8), self.numbers.count)
            if let known = self.numbers[bytes] { return known }
            self.numbers[bytes] = next
            return next
        }
    }

    /// A name with the number of its namespace, if it has one.
    private struct Expanded: Hashable {
        let namespace: Int?
        let local: [UInt8]
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
    ///   - known: Those of the document.
    /// - Returns: The numbers of all that hold for it.
    /// - Throws: ``Fault`` for a prefix that cannot be declared.
    static func namespaces(
        of attributes: [XMLTree.Attribute],
        within outer: [String: Int],
        known: inout Namespaces
    ) throws(Fault) -> [String: Int] {
        var namespaces = outer
        for attribute in attributes where attribute.name.utf8.starts(with: "xmlns:".utf8) {
            let prefix = String(decoding: attribute.name.utf8.dropFirst(6), as: UTF8.self)
            let number = known.number(of: attribute.value)
            guard !prefix.isEmpty, !attribute.value.isEmpty, prefix != "xmlns",
                prefix != "xml" || number == outer["xml"]
            else { throw Fault(reason: "\(attribute.name.prefix(40)) cannot be declared so") }
            namespaces[prefix] = number
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
        _ namespaces: [String: Int]
    ) throws(Fault) {
        _ = try self.expanded(name, namespaces)
        var known: Set<Expanded> = []
        for attribute in attributes {
            let isDeclaration = attribute.name.utf8.starts(with: "xmlns:".utf8)
            let name =
                isDeclaration
                ? Expanded(namespace: nil, local: Array(attribute.name.utf8))
                : try self.expanded(attribute.name, namespaces)
            guard known.insert(name).inserted else {
                throw Fault(reason: "the attribute \(attribute.name.prefix(40)) is given twice")
            }
        }
    }

    /// A name with the namespace of its prefix, if it has one.
    private static func expanded(_ name: String, _ namespaces: [String: Int]) throws(Fault) -> Expanded {
        guard let colon = name.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return Expanded(namespace: nil, local: Array(name.utf8))
        }
        let (prefix, local) = (String(name[..<colon]), String(name[name.utf8.index(after: colon)...]))
        guard self.isName(local), !local.utf8.contains(UInt8(ascii: ":")), let namespace = namespaces[prefix] else {
            throw Fault(reason: "the prefix of \(name.prefix(40)) is not declared")
        }
        return Expanded(namespace: namespace, local: Array(local.utf8))
    }
}
