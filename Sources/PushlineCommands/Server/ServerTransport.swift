import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import PushlineClient

/// The HTTP transport of the command line.
///
/// Unlike Foundation's URL loading it can trust a private authority and explain a failed connection.
struct ServerTransport: HTTPTransport {
    /// The longest that connecting may take, TLS included.
    private static let connectTime = TimeAmount.seconds(10)

    /// One for the process, and ended by it: the requests of a command share its connections.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(
            // A redirect would take the credentials elsewhere.
            redirectConfiguration: .disallow,
            timeout: HTTPClient.Configuration.Timeout(connect: Self.connectTime)
        )
        // A refused connection is reported at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        return HTTPClient(configuration: configuration)
    }()

    /// The trusted authorities; nil = those of this machine.
    var authorities: [NIOSSLCertificate]?

    func answer(to request: HTTPRequest) async throws -> HTTPAnswer {
        var outgoing = HTTPClientRequest(url: request.url.absoluteString)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for (name, value) in request.headers { outgoing.headers.add(name: name, value: value) }
        outgoing.body = request.body.map { .bytes($0) }
        if let authorities = self.authorities {
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .certificates(authorities)
            outgoing.tlsConfiguration = tls
        }
        do {
            // The client sets the deadline, for all of a call.
            let response = try await Self.client.execute(outgoing, deadline: .distantFuture)
            var headers: [String: String] = [:]
            for (name, value) in response.headers { headers[name.lowercased()] = value }
            let body = try await response.body.collect(upTo: HTTPAnswer.maximumBody)
            return HTTPAnswer(status: Int(response.status.code), headers: headers, body: Data(body.readableBytesView))
        } catch {
            throw ConnectionFailure.explained(error, url: request.url)
        }
    }
}
