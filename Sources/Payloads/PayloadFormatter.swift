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

        /// The options of a send, as far as they are in a payload.
        ///
        /// - Parameters:
        ///   - send: The send.
        ///   - pns: The service.
        ///   - priority: Its priority.
        ///   - begins: From when on its time to live counts: a payload formatted again for a retry has less time left.
        ///   - now: When it goes out.
        package init(
            _ send: SendRequest,
            for pns: PushService,
            priority: Priority,
            begins: Timestamp,
            now: Timestamp = .now
        ) {
            let left = send.timeToLive(for: pns).map {
                $0 == .zero ? .zero : max(.seconds(1), now.duration(to: begins) + $0)
            }
            self.init(priority: priority, timeToLive: left, collapse: send.collapse(for: pns))
        }
    }

    /// A payload, and its size as the service counts it.
    package struct Measured: Sendable, Equatable {
        package let payload: NativePayload
        /// The bytes counted by the service.
        package let size: Int
        /// The member of a send that is too large.
        let member: String

        init(_ payload: NativePayload, size: Int? = nil, member: String = "") {
            self.payload = payload
            self.size = size ?? payload.body.count
            self.member = member
        }

        /// The most bytes that the service takes.
        package var limit: Int { self.payload.kind.maximumPayload }

        /// Why the service would refuse it for its size; nil = it fits.
        package var excess: InvalidValue? {
            guard self.size > self.limit else { return nil }
            return InvalidValue(
                member: self.member,
                "the notification is too large for \(self.payload.kind.pns.descriptor.title): its payload has \(self.size) bytes, "
                    + "\(self.size - self.limit) more than the \(self.limit) that the service takes; shorten the text or the data"
            )
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
    ///   `collapse` is too long; the content has nothing for the service; the service is retired.
    package static func format(
        _ content: Content,
        for pns: PushService,
        options: Options = Options()
    ) throws(InvalidValue) -> NativePayload {
        let measured = try self.measure(content, for: pns, options: options)
        if let excess = measured.excess { throw excess }
        return measured.payload
    }

    /// The same of any size, with its size.
    ///
    /// - Parameters:
    ///   - content: The send's content.
    ///   - pns: The push service.
    ///   - options: The delivery options.
    /// - Returns: The payload, which may be too large.
    /// - Throws: ``InvalidValue`` as ``format(_:for:options:)``, but for the size.
    package static func measure(
        _ content: Content,
        for pns: PushService,
        options: Options = Options()
    ) throws(InvalidValue) -> Measured {
        if let collapse = options.collapse, collapse.utf8.count > Self.maximumCollapse {
            throw InvalidValue(
                member: "collapse",
                "a collapse key has at most \(Self.maximumCollapse) bytes; this one has \(collapse.utf8.count)"
            )
        }
        guard let format = ServiceFormat.of(pns) else {
            throw InvalidValue(pns.retiredReason)
        }
        return try format.write(content, options)
    }
}

extension Content.Native {
    /// What a service without a form gets.
    ///
    /// - Throws: ``InvalidValue`` where there is nothing.
    func message(for pns: PushService) throws(InvalidValue) -> Content.Message {
        guard let message = self.message else {
            throw InvalidValue("the send has no title, body, data or `native` payload for \(pns.descriptor.title)")
        }
        return message
    }
}
