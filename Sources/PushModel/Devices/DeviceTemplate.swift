import Crypto

/// What a registration is for: notifications as they are, or the properties that its template makes one of.
package enum RegistrationKind: Sendable, Hashable, CaseIterable {
    case native
    case template
}

/// A template of a device: what becomes of the properties of a send for it.
package struct DeviceTemplate: Codable, Sendable, Hashable {
    /// The most templates of a device.
    package static let maximumCount = 20
    /// The most bytes of a name.
    package static let longestName = 200

    /// Empty = it has none; see ``slot``.
    package let name: String
    package let content: Content

    package init(name: String, content: Content) {
        self.name = name
        self.content = content
    }

    /// What tells it from the other templates of its device: its name, or where it has none its body and headers.
    package var slot: String {
        guard self.name.isEmpty else { return "\(Self.named)\(self.name)" }
        var hash = SHA256()
        let headers = self.content.headers.map { [$0.name.lowercased(), $0.value] }.sorted { $0[0] < $1[0] }
        for text in [self.content.body] + headers.joined() {
            hash.update(data: Array("\(text.utf8.count):\(text)".utf8))
        }
        return "\(Self.unnamed)\(Base64URL.encode(Array(hash.finalize().prefix(16))))"
    }

    /// The template of a slot.
    package init(slot: String, content: Content) {
        self.init(name: slot.hasPrefix(Self.named) ? String(slot.dropFirst(Self.named.count)) : "", content: content)
    }

    /// How slots begin: no name is taken for a digest.
    private static let named = "="
    private static let unnamed = "#"

    /// All but the name, which many devices share.
    package struct Content: Codable, Sendable, Hashable {
        /// A JSON or XML document, or a raw text, whose values may be expressions.
        package let body: String
        /// Of APNs or WNS; their values may be expressions.
        package let headers: [NativePayload.Header]
        /// When APNs is to give up: a time, or an expression; nil = not said.
        package let expiry: String?
        /// APNs' priority: a number, or an expression; nil = not said.
        package let priority: String?
        /// The platform of the wire that it was registered for, if that is not the one its service is shown under.
        package let platform: String?

        package init(
            body: String,
            headers: [NativePayload.Header] = [],
            expiry: String? = nil,
            priority: String? = nil,
            platform: String? = nil
        ) {
            self.body = body
            self.headers = headers
            self.expiry = expiry
            self.priority = priority
            self.platform = platform
        }

        /// The most bytes that it may have together: more than any push service takes.
        package static let maximumSize = 16 << 10

        /// Its bytes.
        package var size: Int {
            self.body.utf8.count + (self.expiry?.utf8.count ?? 0) + (self.priority?.utf8.count ?? 0)
                + self.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        }
    }
}
