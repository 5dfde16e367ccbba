package import PushModel

/// Formats a send's content for a push service.
///
/// Pure: the same content and options give the same bytes, so one payload serves all devices of a job. Text enters a
/// payload only through ``JSONValue`` or ``XMLText``, which escape it.
package enum PayloadFormatter {
    /// The greatest length of a collapse key, in bytes of UTF-8: APNs' limit.
    package static let maximumCollapse = 64

    /// The delivery options of a send.
    ///
    /// FCM reads them from the payload; for APNs and WNS the sender sets headers.
    package struct Options: Sendable, Equatable {
        package var priority: Priority
        /// How long the service may keep the notification; nil = its own default, 0 = now or never.
        package var timeToLive: Duration?
        package var collapse: String?

        package init(priority: Priority = .normal, timeToLive: Duration? = nil, collapse: String? = nil) {
            self.priority = priority
            self.timeToLive = timeToLive
            self.collapse = collapse
        }
    }

    /// The payload of one content for one service.
    ///
    /// - Parameters:
    ///   - content: The send's content.
    ///   - pns: The push service.
    ///   - options: The delivery options.
    /// - Returns: A payload within the service's limit.
    /// - Throws: ``InvalidValue``: the payload is too large (with the excess in bytes); `data.KEY` is a reserved name;
    ///   `collapse` is too long; the service is retired.
    package static func format(
        _ content: Content,
        for pns: PushService,
        options: Options = Options()
    ) throws(InvalidValue) -> NativePayload {
        if let collapse = options.collapse, collapse.utf8.count > Self.maximumCollapse {
            throw InvalidValue(
                member: "collapse",
                "a collapse key has at most \(Self.maximumCollapse) bytes; this one has \(collapse.utf8.count)"
            )
        }
        return switch pns {
        case .apns: try APNsPayload.format(content)
        case .fcm: try FCMPayload.format(content, options: options)
        case .wns: try WNSPayload.format(content)
        case .mpns:
            throw InvalidValue("\(pns.rawValue) is a retired service: devices can be registered, but not sent to")
        }
    }

    /// Refuses a payload over its service's limit.
    ///
    /// - Parameters:
    ///   - size: The bytes counted by the service.
    ///   - pns: The service.
    /// - Throws: ``InvalidValue`` with the excess in bytes.
    static func check(size: Int, for pns: PushService) throws(InvalidValue) {
        let limit = pns.descriptor.maximumPayload
        guard size > limit else { return }
        throw InvalidValue(
            "the notification is too large for \(pns.descriptor.title): its payload has \(size) bytes, \(size - limit) more than the "
                + "\(limit) that the service takes; shorten the text or the data"
        )
    }
}
