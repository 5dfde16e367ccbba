package import HubWire
package import PushModel

/// A notification for devices of a hub, formatted by the caller.
package struct AzureSend: Sendable {
    package enum Format: Sendable, Equatable {
        /// The payload of one platform.
        case native(WirePlatform)
        /// A flat JSON object of texts, for the templates of registrations.
        case template
    }

    package enum Target: Sendable, Equatable {
        /// Everybody.
        case all
        /// Who matches a tag or an expression; ``AzureExpression`` makes those that hubs take.
        case expression(String)
        /// One device.
        case handle(String)
        /// Up to 1000 devices.
        case handles([String])
    }

    package var format: Format
    package var body: [UInt8]
    /// nil = the usual media type of the format.
    package var contentType: String?
    /// Headers for the push service, such as `apns-push-type`, and those of the hub for it, such as `X-WNS-Type`.
    package var headers: [(name: String, value: String)] = []
    package var target: Target
    /// When it is to go out; nil = now.
    ///
    /// Azure takes times from 5 minutes to 7 days ahead, on its Standard tier.
    package var scheduledAt: Timestamp?
    /// The same one for each repetition of a send; nil = a new one.
    ///
    /// `pushline-hub` takes a repeated send with the same one once.
    package var trackingID: String?

    package init(_ format: Format, body: [UInt8], to target: Target) {
        self.format = format
        self.body = body
        self.target = target
    }
}

/// What a hub says to a send that it took.
package struct AzureReceipt: Sendable, Equatable {
    /// The id for telemetry and cancelling; nil = the tier gives none.
    package let notificationID: String?
    /// The id of the request.
    package let trackingID: String?
}

/// What a hub knows of a notification.
package enum AzureTelemetry: Sendable {
    case details(WireTelemetry)
    /// Not yet; later there may be something.
    case notYet
    /// The tier of the hub offers none.
    case notOffered
}
