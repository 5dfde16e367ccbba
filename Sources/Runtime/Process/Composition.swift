package import Broker
import BrokerRabbitMQ
import Hub
import HubEmbedded
package import Logging
package import ServiceLifecycle
package import Store
import StoreSQLite

/// Makes the drivers that a configuration asks for: the only place that knows them.
package enum Composition {
    /// Opens the store, and brings its tables up to date.
    ///
    /// - Parameters:
    ///   - configuration: Where it is.
    ///   - logger: Gets the store's words.
    /// - Returns: The store; as a service it keeps its log short.
    /// - Throws: ``ConfigurationError`` where the file cannot be opened.
    package static func openStore(
        _ configuration: PushlineConfiguration,
        logger: Logger
    ) async throws -> any ResultStore & Service {
        do {
            return try await SQLiteStore.open(
                SQLiteStore.Configuration(
                    path: configuration.store.path,
                    maximumBacklog: configuration.store.backlog,
                    reserve: configuration.store.reserve
                ),
                logger: logger
            )
        } catch let error as StoreError {
            throw ConfigurationError("store.path: \(configuration.store.path) cannot be opened: \(error.message)")
        }
    }

    /// Puts a backup where the configuration has the store; blocks the thread.
    ///
    /// - Parameters:
    ///   - configuration: Where the store shall be: nothing may be there.
    ///   - file: What a store wrote as its backup.
    /// - Throws: `StoreError`.
    package static func restoreStore(_ configuration: PushlineConfiguration, from file: String) throws {
        try SQLiteStore.restore(file, to: configuration.store.path)
    }

    /// Prepares the broker; as a service it connects and stays connected.
    ///
    /// - Parameters:
    ///   - configuration: Where it is.
    ///   - name: Shown for our connections in the broker's lists.
    ///   - patience: The longest that connecting, and any one request, may take; nil = as usual.
    ///   - logger: Gets the broker's words.
    /// - Returns: The broker.
    /// - Throws: ``ConfigurationError`` where the address makes no sense.
    package static func makeBroker(
        _ configuration: PushlineConfiguration,
        name: String,
        patience: Duration? = nil,
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
            if let patience {
                settings.connectTimeout = patience
                settings.requestTimeout = patience
            }
            return RabbitMQBroker(settings, logger: logger)
        } catch let error as RabbitMQConfiguration.Invalid {
            throw ConfigurationError("broker.url: \(error.description)")
        }
    }

    /// Makes the hub: every app's is the embedded one.
    static func makeHub(
        store: any ResultStore,
        broker: any MessageBroker,
        logger: Logger
    ) -> any NotificationHub {
        EmbeddedHub(store: store, broker: broker, logger: logger)
    }
}
