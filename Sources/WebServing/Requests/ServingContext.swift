package import Hummingbird
package import NIOCore
import PushModel

/// The connection or stream of a request, and its data.
package struct ServingContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Names the request: a UUID, made as those of jobs are.
    ///
    /// Hummingbird's own stands in a logger that is made for each request, for the price of five allocations.
    package let id = JobID.make().description
    private let channel: any Channel

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.channel = source.channel
    }

    /// The other end of the connection, also of a stream's; nil in tests without one.
    package var connection: SocketAddress? { self.channel.remoteAddress }

    /// What the reader of its body may ask of the connection.
    package var body: BodyConnection {
        let channel = self.channel
        return BodyConnection(
            ask: { channel.triggerUserOutboundEvent(EarlyResponseHandler.BodyWanted(), promise: nil) },
            end: { channel.triggerUserOutboundEvent(EarlyResponseHandler.BodyOverdue(), promise: nil) }
        )
    }
}
