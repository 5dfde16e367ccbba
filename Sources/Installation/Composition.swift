package import Broker
import BrokerRabbitMQ
package import Logging
package import ServiceLifecycle

/// Makes the driver of the broker that a configuration asks for: the only place that knows it, as ``ConfiguredStore`` is of the
/// store's.
package enum Composition {
    /// Prepares the broker; as a service it connects and stays connected.
    ///
    /// - Parameters:
    ///   - configuration: Where it is.
    ///   - name: Shown for our connections in the broker's lists.
    ///   - timeout: The longest that connecting, and any one request, may take; nil = as usual.
    ///   - logger: Gets the broker's words.
    /// - Returns: The broker.
    /// - Throws: ``ConfigurationError`` where the address makes no sense.
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
