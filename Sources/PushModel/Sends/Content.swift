/// The content of a send, before it is formatted for a push service.
package enum Content: Codable, Sendable, Equatable {
    /// A message with a title, a body and data.
    case message(Message)
    /// The classic backend's text: shown as `From <sender>: <text>`.
    case classic(sender: String, text: String)
    /// A silent push that makes an app fetch a rich notification.
    case rich(RichPush)
    /// Some services' own forms, made by the sender.
    case native(Native)
    /// Properties, of which each device's template makes its notification.
    case template(Properties)

    /// What a service gets that has no form of the sender's own; nil = nothing, or content of another kind.
    package func message(for pns: PushService) -> Message? {
        switch self {
        case .message(let message): message
        case .native(let native): native[pns] == nil ? native.message : nil
        case .classic, .rich, .template: nil
        }
    }

    /// A visible message, or a silent one with only data.
    package struct Message: Codable, Sendable, Equatable {
        package let title: String?
        package let body: String?
        /// Handed to the app as it is; keys must not be those that a push service keeps to itself.
        package let data: [String: String]
        /// All else; nil = there is nothing.
        package let members: MessageMembers?

        package init(
            title: String? = nil,
            body: String? = nil,
            data: [String: String] = [:],
            members: MessageMembers? = nil
        ) {
            self.title = title
            self.body = body
            self.data = data
            self.members = members
        }

        /// Whether it has a title or body of its own, not only names of texts that the app has.
        package var hasText: Bool { self.title != nil || self.body != nil }

        /// Nothing is shown: the app is woken and handed the data.
        package var isSilent: Bool {
            !self.hasText && self.members?["titleLocKey"] == nil && self.members?["bodyLocKey"] == nil
        }
    }

    /// Forms of the sender's own for some services, and a message for the others.
    package struct Native: Codable, Sendable, Equatable {
        /// What the services get that have no form; nil = nothing, they are not targets.
        package let message: Message?
        /// One for each service that has one.
        package let forms: [NativePayload]

        package init(message: Message?, forms: [NativePayload]) {
            self.message = message
            self.forms = forms
        }

        /// The form of a service.
        package subscript(pns: PushService) -> NativePayload? { self.forms.first { $0.kind.pns == pns } }

        /// The services that have a form.
        package var services: [PushService] { self.forms.map(\.kind.pns) }
    }

    /// What templates are filled with, for registrations that have one.
    package struct Properties: Codable, Sendable, Equatable {
        /// By their names.
        package let values: [String: String]
        /// Headers of the sender's for the services that have such.
        package let headers: [NativePayload.Header]

        package init(_ values: [String: String], headers: [NativePayload.Header] = []) {
            self.values = values
            self.headers = headers
        }
    }

    /// For which registrations it is.
    package var kind: RegistrationKind { if case .template = self { .template } else { .native } }

    /// The reference to a rich notification that travels in the payload.
    package struct RichPush: Codable, Sendable, Equatable {
        /// A positive number that fits 32 bits.
        package let id: Int32
        package let message: String
        /// `img`, or the app's own type.
        package let richType: String
        /// Whether the payload has only `secureId`, without the message.
        package let isSecure: Bool

        package init(id: Int32, message: String, richType: String, isSecure: Bool) {
            self.id = id
            self.message = message
            self.richType = richType
            self.isSecure = isSecure
        }
    }
}

/// A send as its job row keeps it.
package struct SendRequest: Codable, Sendable, Equatable {
    package let audience: SendAudience
    /// The number of tags of an `||` omitted from ``audience``; 0 = it is complete.
    ///
    /// A job has the first tags of a long list and the number of the others. A fan-out reads the complete list, and
    /// this is 0.
    package let truncatedTags: Int
    /// The services to send through; empty = all that the app has registrations of.
    package let platforms: [PushService]
    package let content: Content
    /// How long the push service may keep it for a device that is off, counted from the job's beginning; nil = its own default,
    /// 0 = one try, now or never.
    package let timeToLive: Duration?
    /// Replaces an undelivered notification with the same key; at most 64 bytes.
    package let collapse: String?
    /// Whether everything is done but the push: no device gets it, and no registration ends by it.
    package let isDryRun: Bool
    /// What a client of a hub's wire wrote; nil = what goes out.
    package let original: Original?

    /// A notification as a client of a hub's wire wrote it, where another form of it goes out: telemetry shows it.
    package struct Original: Codable, Sendable, Equatable {
        /// The platform's name, if it is not the one of its service.
        package let platform: String?
        /// nil = what goes out.
        package let body: String?

        /// - Returns: nil if it says nothing.
        package init?(platform: String? = nil, body: String?) {
            guard platform != nil || body != nil else { return nil }
            self.platform = platform
            self.body = body
        }
    }

    package init(
        to audience: SendAudience,
        truncatedTags: Int = 0,
        platforms: [PushService] = [],
        content: Content,
        timeToLive: Duration? = nil,
        collapse: String? = nil,
        isDryRun: Bool = false,
        original: Original? = nil
    ) {
        self.audience = audience
        self.truncatedTags = truncatedTags
        self.platforms = platforms
        self.content = content
        self.timeToLive = timeToLive
        self.collapse = collapse
        self.isDryRun = isDryRun
        self.original = original
    }

    /// A send to the registrations that an expression selects.
    package init(
        audience expression: TagExpression,
        platforms: [PushService] = [],
        content: Content,
        timeToLive: Duration? = nil,
        collapse: String? = nil,
        isDryRun: Bool = false
    ) {
        self.init(
            to: .tags(expression),
            platforms: platforms,
            content: content,
            timeToLive: timeToLive,
            collapse: collapse,
            isDryRun: isDryRun
        )
    }

    /// How long a service may keep it: what the message says of that service, else ``timeToLive``.
    package func timeToLive(for pns: PushService) -> Duration? {
        self.content.message(for: pns)?.members?.integer("\(pns.rawValue).ttl").map { .seconds($0) } ?? self.timeToLive
    }

    /// The collapse key for a service: what the message says of it, else ``collapse``.
    package func collapse(for pns: PushService) -> String? {
        self.content.message(for: pns)?.members?.text("\(pns.rawValue).collapse") ?? self.collapse
    }

    /// The most tags of which one is enough that a job shows.
    package static let previewTags = 100

    /// The send as its job shows it: with the first of its audience's tags, where there are many.
    package var preview: SendRequest {
        guard let tags = self.audience.alternatives, tags.count > Self.previewTags else { return self }
        return self.with(
            audience: .tags(.any(Array(tags.prefix(Self.previewTags)))),
            truncatedTags: tags.count - Self.previewTags
        )
    }

    /// The same for another audience.
    package func with(audience: SendAudience, truncatedTags: Int = 0) -> SendRequest {
        SendRequest(
            to: audience,
            truncatedTags: truncatedTags,
            platforms: self.platforms,
            content: self.content,
            timeToLive: self.timeToLive,
            collapse: self.collapse,
            isDryRun: self.isDryRun,
            original: self.original
        )
    }

    private enum CodingKeys: String, CodingKey {
        case audience, truncatedTags, platforms, content, ttl, collapse, dryRun, original
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.audience = try container.decode(SendAudience.self, forKey: .audience)
        self.truncatedTags = try container.decodeIfPresent(Int.self, forKey: .truncatedTags) ?? 0
        self.platforms = try container.decodeIfPresent([PushService].self, forKey: .platforms) ?? []
        self.content = try container.decode(Content.self, forKey: .content)
        self.timeToLive = try container.decodeIfPresent(Int64.self, forKey: .ttl).map { .seconds($0) }
        self.collapse = try container.decodeIfPresent(String.self, forKey: .collapse)
        self.isDryRun = try container.decodeIfPresent(Bool.self, forKey: .dryRun) ?? false
        self.original = try container.decodeIfPresent(Original.self, forKey: .original)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.audience, forKey: .audience)
        if self.truncatedTags > 0 { try container.encode(self.truncatedTags, forKey: .truncatedTags) }
        try container.encode(self.platforms, forKey: .platforms)
        try container.encode(self.content, forKey: .content)
        try container.encodeIfPresent(self.timeToLive?.components.seconds, forKey: .ttl)
        try container.encodeIfPresent(self.collapse, forKey: .collapse)
        if self.isDryRun { try container.encode(true, forKey: .dryRun) }
        try container.encodeIfPresent(self.original, forKey: .original)
    }
}
