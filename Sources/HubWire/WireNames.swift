/// Namespaces and headers of the wire.
package enum WireNames {
    package static let atom = "http://www.w3.org/2005/Atom"
    package static let connect = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
    package static let instance = "http://www.w3.org/2001/XMLSchema-instance"
    package static let metadata = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"

    package static let format = "ServiceBusNotification-Format"
    package static let tags = "ServiceBusNotification-Tags"
    package static let deviceHandle = "ServiceBusNotification-DeviceHandle"
    package static let scheduleTime = "ServiceBusNotification-ScheduleTime"
    /// The format of sends to the templates of registrations.
    package static let templateFormat = "template"
    /// Until when APNs is to keep it, as clients spell it, and as samples do.
    package static let apnsExpiry = ["ServiceBusNotification-Apns-Expiry", "ServiceBusNotification-ApnsExpiry"]
    /// All of the hub's own that a send may have.
    package static let ofSends = [Self.format, Self.tags, Self.deviceHandle, Self.scheduleTime] + Self.apnsExpiry
    package static let trackingID = "TrackingId"
    package static let correlationID = "x-ms-correlation-request-id"
    package static let continuation = "x-ms-continuationtoken"

    /// The media type of most answers, of JSON ones too.
    package static let xml = "application/xml; charset=utf-8"
    package static let entry = "application/atom+xml; type=entry; charset=utf-8"
    /// Of a request with an entry.
    package static let entryBody = "application/atom+xml;type=entry;charset=utf-8"
    package static let json = "application/json;charset=utf-8"
    package static let jsonPatch = "application/json-patch+json"
    package static let feed = "application/atom+xml; type=feed; charset=utf-8"

    /// The greatest size of a request's body.
    package static let maximumBody = 64 << 10
    /// Bytes of a body with a list of handles: a thousand of the longest that services give out.
    package static let maximumList = 1 << 20
    /// The greatest number of handles of a batch.
    package static let maximumHandles = 1000
}
