import Settings

/// How senders behave; the same for all apps of a process.
package struct SenderSettings: Sendable {
    /// The most connections that a sender opens to APNs or FCM.
    package var connections = DeliverySettings().connections
    /// The most requests in flight to WNS, which takes one a connection.
    package var http1Connections: Int = 32
    /// How long an answer may take.
    package var requestTimeout: Duration = .seconds(10)
    /// How long a connection may take to be ready: name, TCP, TLS and the peer's SETTINGS.
    package var connectTimeout: Duration = .seconds(10)
    /// After this time without work a connection is closed.
    package var idleTimeout: Duration = .seconds(600)
    /// How often the files that an app names are looked at.
    package var fileCheckInterval: Duration = .seconds(2)
    /// After this time without use a sender is closed.
    package var senderIdleTimeout: Duration = .seconds(1800)

    package init() {}
}
