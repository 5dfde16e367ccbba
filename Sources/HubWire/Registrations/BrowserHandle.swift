package import PushModel

/// A browser's handle: three parts on the wire, one text with us.
package enum BrowserHandle {
    /// The handle of the parts, as ``WirePlatform/handleElements`` names them.
    ///
    /// - Throws: ``InvalidValue``, without the parts.
    package static func text(of parts: [String]) throws(InvalidValue) -> String {
        guard parts.count == 3 else { throw Self.fault }
        let members: [JSONValue.Member] = zip(["endpoint", "p256dh", "auth"], parts).map { .init($0, .string($1)) }
        return try WebPushSubscription(handle: Base64URL.encode(JSONValue.object(members).bytes)).handle
    }

    /// The handle of an installation's channel, which is the JSON text of the parts.
    ///
    /// - Throws: ``InvalidValue``, without the parts.
    package static func text(ofChannel channel: String) throws(InvalidValue) -> String {
        guard channel.hasPrefix("{") else { throw Self.fault }
        return try WebPushSubscription(handle: Base64URL.encode(Array(channel.utf8))).handle
    }

    /// The parts of a handle that was checked when it was stored.
    package static func parts(of handle: String) throws(InvalidValue) -> [String] {
        let subscription = try WebPushSubscription(handle: handle)
        return [
            subscription.endpoint.url, Base64URL.encode(subscription.publicKey),
            Base64URL.encode(subscription.authenticationSecret),
        ]
    }

    /// The channel of a handle that was checked when it was stored.
    package static func channel(of handle: String) throws(InvalidValue) -> String {
        let parts = try Self.parts(of: handle)
        return JSONValue.members([
            "endpoint": .string(parts[0]), "p256dh": .string(parts[1]), "auth": .string(parts[2]),
        ]).compactText
    }

    private static let fault = InvalidValue("a browser is a JSON object of endpoint, p256dh and auth, all strings")
}

extension WirePlatform {
    /// Our text of a handle in parts.
    ///
    /// - Throws: ``InvalidValue`` where the parts are not a handle; other handles than a browser's are checked later.
    package func handleText(of parts: [String]) throws(InvalidValue) -> String {
        self == .browser ? try BrowserHandle.text(of: parts) : parts[0]
    }

    /// Our text of an installation's channel, or of a handle that is one text on the wire.
    ///
    /// - Throws: ``InvalidValue``, as ``handleText(of:)``.
    package func handleText(ofChannel channel: String) throws(InvalidValue) -> String {
        self == .browser ? try BrowserHandle.text(ofChannel: channel) : channel
    }

    /// The parts in which a registration shows a handle.
    ///
    /// - Throws: ``InvalidValue`` for a stored text that is none of this platform.
    package func parts(of handle: Handle) throws(InvalidValue) -> [String] {
        switch self {
        // Clients of APNs compare in capitals.
        case .apple: [handle.text.uppercased()]
        case .browser: try BrowserHandle.parts(of: handle.text)
        default: [handle.text]
        }
    }

    /// The channel in which an installation shows a handle.
    ///
    /// - Throws: ``InvalidValue``, as ``parts(of:)``.
    package func channel(of handle: Handle) throws(InvalidValue) -> String {
        self == .browser ? try BrowserHandle.channel(of: handle.text) : handle.text
    }
}
