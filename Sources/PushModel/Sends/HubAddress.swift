/// Whom a call of a hub over a wire is for: what stands in a batch in place of a device's handle.
package enum HubAddress: Sendable, Equatable {
    /// All registrations.
    case everyone
    /// Those that an expression selects, in the hub's own syntax.
    case expression(String)
    /// One device, by its handle.
    case device(String)

    // No handle has a space, so that none is taken for one of these.
    private static let all = "to all"
    private static let prefix = "to tags "

    /// Reads ``text``.
    package init(_ text: String) {
        if text == Self.all {
            self = .everyone
        } else if text.hasPrefix(Self.prefix) {
            self = .expression(String(text.dropFirst(Self.prefix.count)))
        } else {
            self = .device(text)
        }
    }

    /// As it is kept.
    package var text: String {
        switch self {
        case .everyone: Self.all
        case .expression(let text): Self.prefix + text
        case .device(let handle): handle
        }
    }
}
