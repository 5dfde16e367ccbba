package import Broker
import BrokerRabbitMQ
package import Logging
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
    ///   - logger: The broker's logger.
    /// - Returns: The broker.
    /// - Throws: ``ConfigurationError`` for an invalid address.
    package static func makeBroker(
        _ configuration: PushlineConfiguration,
        name: String,
        timeout: Duration? = nil,
        logger: Logger
    ) throws -> any MessageBroker & Service {
        let broker = configuration.broker
        do {
            var settings = try RabbitMQConfiguration(
                url: broker.url,
                tls: RabbitMQConfiguration.TLS(
                    authorityFile: broker.caFile,
                    certificateFile: broker.certificateFile,
                    keyFile: broker.keyFile
                )
            )
            settings.connectionName = name
            settings.heartbeat = broker.heartbeat
            // Consumers start at once, and must not come before their queues.
            settings.topology = .pushline
            if let timeout {
                settings.connectTimeout = timeout
                settings.requestTimeout = timeout
            }
            return RabbitMQBroker(settings, logger: logger)
        } catch let error as RabbitMQConfiguration.Invalid {
            throw ConfigurationError("broker.url: \(error.description)")
        }
    }
}
