package import PushModel

extension WireFeed {
    /// Reads the registrations of a feed.
    ///
    /// - Parameter bytes: The XML, whose size the caller bounds.
    /// - Returns: The registrations, and how many entries describe none that is known here.
    /// - Throws: `InvalidValue` for what is not a feed.
    package static func registrations(
        reading bytes: [UInt8]
    ) throws(InvalidValue) -> (registrations: [WireRegistration], unreadable: Int) {
        var registrations: [WireRegistration] = []
        var unreadable = 0
        for entry in try WireDocument.root("feed", of: bytes).elements where entry.localName == "entry" {
            do throws(InvalidValue) { registrations.append(try WireRegistration(entry: entry)) } catch {
                unreadable += 1
            }
        }
        return (registrations, unreadable)
    }
}

/// XML of the wire.
enum WireDocument {
    /// Reads the root.
    ///
    /// - Throws: `InvalidValue` for what is not XML.
    static func root(of bytes: [UInt8]) throws(InvalidValue) -> XMLTree {
        do throws(XMLSyntaxError) { return try XMLReader.read(bytes) } catch {
            throw InvalidValue("the body is not XML: line \(error.line), column \(error.column): \(error.reason)")
        }
    }

    /// Reads the root that must have this name.
    ///
    /// - Throws: `InvalidValue`.
    static func root(_ name: String, of bytes: [UInt8]) throws(InvalidValue) -> XMLTree {
        let root = try self.root(of: bytes)
        guard root.localName == name else {
            throw InvalidValue("the root must be \(name), not \(root.localName.prefix(40))")
        }
        return root
    }
}
