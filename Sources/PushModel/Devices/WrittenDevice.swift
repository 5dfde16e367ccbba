/// How a client of a hub's wire wrote its device, if that is kept in another form: it reads its own words again.
package struct WrittenDevice: Codable, Sendable, Hashable {
    /// The most bytes of a channel: a browser's has members of any kind.
    package static let longestChannel = 2 * Handle.maximumLength

    /// By service, the platforms of the wire that a registration of it may have besides the one it is shown under.
    package static let otherPlatforms: [PushService: [String]] = [.fcm: ["gcm"]]

    /// The platform's name, where its service is shown under another.
    package let platform: String?
    /// The channel of an installation, where the handle is shown in another form.
    package let channel: String?
    /// Whether the channel was an object, and not a text: nil = it was a text.
    package let isObject: Bool?

    /// - Returns: nil if nothing was written in another form.
    package init?(platform: String? = nil, channel: String? = nil, isObject: Bool = false) {
        guard platform != nil || channel != nil || isObject else { return nil }
        self.platform = platform
        self.channel = channel
        self.isObject = isObject ? true : nil
    }
}
