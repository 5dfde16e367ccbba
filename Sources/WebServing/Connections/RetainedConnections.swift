package import HummingbirdCore
package import Logging
package import NIOCore

/// Connections whose channels are kept until they are closed, whoever else has let go of them.
///
/// A listener that ends drops a connection that it has accepted and nobody has taken over yet. Dropped while it is open, a
/// channel ends the process: its writer insists on being finished.
package struct RetainedConnections<Child: ServerChildChannel>: ServerChildChannel {
    private let child: Child

    package init(_ child: Child) { self.child = child }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Child.Value> {
        self.child.setup(channel: channel, logger: logger).map { value in
            channel.closeFuture.whenComplete { _ in withExtendedLifetime(value) {} }
            return value
        }
    }

    package func handle(value: Child.Value, logger: Logger) async {
        await self.child.handle(value: value, logger: logger)
    }
}
