/// Lets other processes of the same installation listen on a port, and nobody else.
package protocol PortSharing: Sendable {
    /// Joins those that listen on the port.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port.
    /// - Returns: Whether the port can be shared here.
    /// - Throws: `IOError` where somebody else listens on it.
    func take(host: String, port: Int) async throws -> Bool

    /// Leaves the others.
    func release()
}
