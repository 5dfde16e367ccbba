import PushModel

/// Names and addresses that are always the host's own.
enum LoopbackName {
    /// Whether a request that calls the server so cannot be meant for another.
    ///
    /// - Parameter authority: A name or an address, and perhaps a port; nil = the request says none, which no browser does.
    /// - Returns: Whether it is this host's own.
    static func isLoopback(authority: String?) -> Bool {
        guard let authority else { return true }
        if authority.hasPrefix("[") {
            return IPAddress.isLoopback(host: String(authority.dropFirst().prefix { $0 != "]" }))
        }
        let name = authority.prefix { $0 != ":" }
        // A full stop says that the name is whole.
        return IPAddress.isLoopback(host: String(name.hasSuffix(".") ? name.dropLast() : name))
    }
}
