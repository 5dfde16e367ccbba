import AsyncHTTPClient
package import HubWire
package import Logging
package import NIOCore
package import OutgoingHTTP
package import PushModel

/// A hub of Azure Notification Hubs, or of anything that speaks its wire, as a client sees it.
///
/// A cheap value around shared parts. No call is tried again, but for one with a new token after a 401: retries, throttling and
/// breakers are the caller's.
package struct AzureHub: Sendable {
    let transport: AzureTransport

    /// - Parameters:
    ///   - connection: Where the hub is, and the rule and key that sign.
    ///   - name: The hub's name.
    ///   - client: The connections, which hubs may share; ``client(on:configuration:)`` makes one.
    ///   - configuration: Limits.
    ///   - logger: For calls that stop.
    ///   - now: The wall clock.
    package init(
        _ connection: ConnectionString,
        name: String,
        client: OutgoingClient,
        configuration: AzureHubConfiguration = AzureHubConfiguration(),
        logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        self.transport = AzureTransport(
            connection,
            name: name,
            client: client,
            peer: Peer(.hub, logger: logger),
            configuration,
            now: now
        )
    }

    /// A client that hubs may share: HTTP/1.1 over TLS, without redirects.
    ///
    /// - Parameters:
    ///   - eventLoopGroup: Where it works.
    ///   - configuration: Of its connections.
    /// - Returns: The client, which the caller closes.
    package static func client(
        on eventLoopGroup: any EventLoopGroup,
        configuration: AzureHubConfiguration = AzureHubConfiguration()
    ) -> OutgoingClient {
        var setup = HTTPClient.Configuration.outgoing(trustFile: nil)
        setup.timeout.connect = .milliseconds(configuration.connectTimeout.milliseconds)
        setup.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = configuration.connections
        return OutgoingClient { [setup] in
            HTTPClient(eventLoopGroupProvider: .shared(eventLoopGroup), configuration: setup)
        }
    }
}

/// Limits of the calls of a hub.
package struct AzureHubConfiguration: Sendable {
    /// How long a call may take, from its beginning to the end of the answer.
    package var requestTimeout: Duration = .seconds(30)
    /// How long a connection may take, TLS included.
    ///
    /// Also how long a call may wait for a connection that is free.
    package var connectTimeout: Duration = .seconds(5)
    /// The most connections to a host.
    package var connections = 64
    /// Certificates in PEM to trust instead of the system's; nil = the system's.
    package var trustFile: String?
    /// For how long a token is valid.
    package var tokenLifetime: Duration = .seconds(3600)

    package init() {}
}

/// A page of a list.
package struct AzurePage<Item: Sendable>: Sendable {
    package let items: [Item]
    /// How many more the page has that this client cannot read.
    package let unreadable: Int
    /// Where the next page begins; nil = this was the last.
    package let continuation: String?

    package init(items: [Item], unreadable: Int, continuation: String?) {
        self.items = items
        self.unreadable = unreadable
        self.continuation = continuation
    }
}
