import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import WebServing

struct RetainedConnectionsTests {
    @Test("A connection that nobody took over before the listener ended does not end the process")
    func aDroppedConnectionIsRetainedUntilItIsClosed() throws {
        let channel = EmbeddedChannel()
        let connections = RetainedConnections(HTTP1Channel { _, _, _ in })
        // Its value, which alone could finish the writer, is dropped at once.
        _ = connections.setup(channel: channel, logger: Logger(label: "test"))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(channel.isActive)
        // Without the hold the process would have ended here.
        _ = try channel.finish(acceptAlreadyClosed: true)
        #expect(!channel.isActive)
    }
}
