import Broker
import Hub
import HubEmbedded
import Installation
import Logging
import Store

extension Composition {
    /// Makes the hub: every app's is the embedded one.
    static func makeHub(
        store: any ResultStore,
        broker: any MessageBroker,
        logger: Logger
    ) -> any NotificationHub {
        EmbeddedHub(store: store, broker: broker, logger: logger)
    }
}
