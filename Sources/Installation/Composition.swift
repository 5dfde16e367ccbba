package import Broker
import BrokerRabbitMQ
import Foundation
package import Logging
import PushModel
package import ServiceLifecycle
package import Settings

/// Makes the driver of the broker that a configuration asks for: the only place that knows it, as ``ConfiguredStore`` is of the
/// store's.
package enum Composition {
    /// Prepares the broker; as a service it connects and stays connected.
    ///
    /// - Parameters:
    ///   - configuration: The broker's address and settings.
    ///   - name: The name of our connections in the broker's lists.
    ///   - timeout: The longest time for a connection and for any one request; nil = the default.
    ///   - declares: Whether each new connection makes the queues that are missing.
    ///   - logger: The broker's logger.
    /// - Returns: The broker.
    /// - Throws: ``ConfigurationError`` for an invalid address.
    package static func makeBroker(
        _ configuration: PushlineConfiguration,
        name: String,
        timeout: Duration? = nil,
        declares: Bool = true,
        logger: Logger
    ) throws -> any MessageBroker & Service {
        var settings = try Self.settings(configuration.broker)
        settings.connectionName = name
        // Consumers start at once, and must not come before their queues.
        if declares { settings.topology = .pushline }
        if let timeout {
            settings.connectTimeout = timeout
            settings.requestTimeout = timeout
        }
        return RabbitMQBroker(settings, logger: logger)
    }

    static func settings(_ broker: BrokerSettings) throws -> RabbitMQConfiguration {
        do {
            var settings = try RabbitMQConfiguration(
                // Processes spread over the nodes; each keeps its order.
                urls: broker.urls.shuffled(),
                tls: RabbitMQConfiguration.TLS(
                    authorityFile: broker.caFile,
                    certificateFile: broker.certificateFile,
                    keyFile: broker.keyFile
                )
            )
            if broker.heartbeat > .zero { settings.heartbeat = broker.heartbeat }
            return settings
        } catch let error as RabbitMQConfiguration.Invalid {
            throw ConfigurationError("broker.url: \(error.description)")
        }
    }

    /// The nodes to which `broker.url` logs in with RabbitMQ's default account, `guest` with a password that everybody knows.
    ///
    /// - Parameter configuration: The broker's address and settings.
    /// - Returns: Host and port of each, and whether only this host can reach it.
    /// - Throws: ``ConfigurationError`` for an invalid address.
    package static func defaultAccounts(
        _ configuration: PushlineConfiguration
    ) throws -> [(node: String, isLoopback: Bool)] {
        try Self.settings(configuration.broker).addresses
            .filter { $0.username == "guest" && $0.password == "guest" }
            .map { ($0.description, IPAddress.isLoopback(host: $0.host)) }
    }

    /// Where the broker's management API is asked, and as whom: as `broker.url` says where the address names nobody.
    ///
    /// - Parameter configuration: The broker's address and settings.
    /// - Returns: The place; nil = none is configured.
    /// - Throws: ``ConfigurationError`` for an invalid address.
    package static func management(_ configuration: PushlineConfiguration) throws -> ManagementAddress? {
        guard let url = configuration.broker.managementURL else { return nil }
        let account = try Self.settings(configuration.broker).addresses[0]
        guard var parts = URLComponents(string: url), let scheme = parts.scheme, ["http", "https"].contains(scheme),
            parts.host?.isEmpty == false, parts.query == nil, parts.fragment == nil
        else {
            throw ConfigurationError("broker.management_url must be http:// or https://, [user:password@]host:port")
        }
        let (username, password) = (parts.user ?? account.username, parts.password ?? account.password)
        (parts.user, parts.password) = (nil, nil)
        return ManagementAddress(
            url: parts.string.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? "",
            username: username,
            password: password,
            virtualHost: account.virtualHost,
            authorityFile: configuration.broker.caFile
        )
    }
}

/// Where the broker's management API is asked, and as whom.
package struct ManagementAddress: Sendable, Equatable {
    /// Without user and password, and without a slash at its end.
    package var url: String
    package var username: String
    package var password: String
    package var virtualHost: String
    /// PEM file of the authorities to trust; nil = the system's.
    package var authorityFile: String?

    package init(url: String, username: String, password: String, virtualHost: String, authorityFile: String? = nil) {
        self.url = url
        self.username = username
        self.password = password
        self.virtualHost = virtualHost
        self.authorityFile = authorityFile
    }
}
