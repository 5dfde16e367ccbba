import NIOConcurrencyHelpers
import NIOCore

/// The connections that a server has accepted and that are open.
final class OpenConnections: Sendable {
    private let channels = NIOLockedValueBox<[ObjectIdentifier: any Channel]>([:])

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        self.channels.withLockedValue { $0[id] = channel }
        channel.closeFuture.whenComplete { _ in self.channels.withLockedValue { $0[id] = nil } }
    }

    /// Tells each to end after what it is at: HTTP/1.1 with `Connection: close`, HTTP/2 with GOAWAY.
    func askToEnd() {
        for channel in self.channels.withLockedValue({ Array($0.values) }) {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
    }
}
