import PushModel

/// Names and addresses that are always the host's own.
package enum LoopbackName {
    /// Whether a server that listens there can be reached from its own host only.
    package static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        guard let address = IPAddress(host) else { return false }
        return address.isIPv4 ? (address.bits >> 24) & 0xFF == 127 : address.bits == 1
    }

    /// Whether a request that calls the server so cannot be meant for another.
    ///
    /// - Parameter authority: A name or an address, and perhaps a port; nil = the request says none, which no browser does.
    /// - Returns: Whether it is this host's own.
    static func isLoopback(authority: String?) -> Bool {
        guard let authority else { return true }
        if authority.hasPrefix("[") {
            return self.isLoopback(String(authority.dropFirst().prefix { $0 != "]" }))
        }
        let name = authority.prefix { $0 != ":" }
        // A full stop says that the name is whole.
        return self.isLoopback(String(name.hasSuffix(".") ? name.dropLast() : name))
    }
}
