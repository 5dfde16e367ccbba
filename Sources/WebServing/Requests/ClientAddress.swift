package import HTTPTypes
import Hummingbird
package import NIOCore
package import PushModel

extension IPAddress {
    /// - Returns: nil for a socket of another family.
    package init?(_ address: SocketAddress) {
        guard let text = address.ipAddress else { return nil }
        self.init(text)
    }
}

extension TrustedProxies {
    /// The client of a request.
    ///
    /// Reads the header from its end, as far as trusted proxies wrote it; the client may have forged the rest.
    ///
    /// - Parameters:
    ///   - connection: The peer of the connection.
    ///   - headers: The request's headers; `X-Forwarded-For` counts if the peer is a trusted proxy.
    /// - Returns: The client, in the form of ``IPAddress/client``.
    package func client(of connection: SocketAddress?, headers: HTTPFields) -> IPAddress {
        var client = connection.flatMap(IPAddress.init) ?? .unspecified
        guard self.contains(client) else { return client.client }
        let hops = headers[values: .forwardedFor].flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        for hop in hops.reversed() {
            // Behind an unreadable address, the proxy that wrote it is the last known one.
            guard let address = Self.address(hop.trimming()) else { break }
            client = address
            if !self.contains(address) { break }
        }
        return client.client
    }

    /// The id that a trusted proxy gave a request, so that its log and ours name it alike.
    ///
    /// - Returns: nil if there is none, another client gave it, or it is not a ``RequestID``.
    func requestID(of request: Request, connection: SocketAddress?) -> String? {
        guard let id = request.headers.text(of: .proxyRequestID).flatMap({ RequestID($0) }),
            let peer = connection.flatMap(IPAddress.init), self.contains(peer)
        else { return nil }
        return id.description
    }

    /// Reads a hop: an address, some proxies add the port (`192.0.2.1:4711`, `[2001:db8::1]:4711`).
    private static func address(_ hop: Substring) -> IPAddress? {
        if hop.hasPrefix("["), let end = hop.firstIndex(of: "]") { return IPAddress(hop[..<end].dropFirst()) }
        if let colon = hop.firstIndex(of: ":"), hop.lastIndex(of: ":") == colon { return IPAddress(hop[..<colon]) }
        return IPAddress(hop)
    }
}
