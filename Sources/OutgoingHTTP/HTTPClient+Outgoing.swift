package import AsyncHTTPClient
import NIOCore
package import NIOSSL

extension HTTPClient.Configuration {
    /// For requests to servers that we do not run: HTTP/1.1 over TLS 1.2 or later, and no redirects, which would take
    /// credentials elsewhere.
    ///
    /// - Parameter trustFile: Certificates in PEM to trust instead of the system's; nil = the system's.
    /// - Returns: The configuration.
    package static func outgoing(trustFile: String?) -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration(tlsConfiguration: .outgoing(trustFile: trustFile))
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        // An unreachable host fails at once; the caller's policy decides on retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        // Sooner than servers close an idle connection, our own hub after 37 s: a request that meets its close may have been taken, and has
        // no answer.
        configuration.connectionPool.idleTimeout = .seconds(25)
        return configuration
    }
}

extension TLSConfiguration {
    /// TLS 1.2 or later, as a client.
    ///
    /// - Parameter trustFile: Certificates in PEM to trust instead of the system's; nil = the system's.
    /// - Returns: The configuration.
    package static func outgoing(trustFile: String?) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustFile { tls.trustRoots = .file(trustFile) }
        return tls
    }
}
