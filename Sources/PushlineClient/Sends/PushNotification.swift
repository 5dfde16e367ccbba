public import Foundation

/// A notification and its audience.
public struct PushNotification: Sendable, Equatable, Encodable {
    /// The audience of a notification.
    public enum Audience: Sendable, Equatable, Encodable {
        /// All devices of that user.
        case user(String)
        /// All devices of these users; 1 to 20,000.
        case users([String])
        /// All devices that have that tag.
        case tag(String)
        /// All devices that have one of these tags; 1 to 20,000.
        case tags([String])
        /// All devices whose tags satisfy an expression of `!`, `&&`, `||` and parentheses, such as `beta && !muted`.
        case matching(String)
        /// These devices, whether registered or not; 1 to 20,000. Needs the role sender or operator, as all below.
        case handles([Recipient])
        /// The devices of these registrations; 1 to 20,000.
        case registrations([String])
        /// A broadcast channel of APNs, by its id: all Live Activities that listen to it. The credential is one of the app's at APNs,
        /// nil = the default one. Takes ``PushNotification/liveActivity`` alone.
        case channel(String, credential: String? = nil)
        /// All devices of the app.
        case all

        private enum CodingKeys: String, CodingKey {
            case user, users, tag, tags, handles, registrations, channel, credential, all
        }

        /// Writes the API's form, such as `{"user":"ann"}`.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch self {
            case .user(let name): try container.encode(name, forKey: .user)
            case .users(let names): try container.encode(names, forKey: .users)
            case .tag(let tag): try container.encode(tag, forKey: .tag)
            case .tags(let tags): try container.encode(tags, forKey: .tags)
            case .matching(let expression): try container.encode(expression, forKey: .tags)
            case .handles(let devices): try container.encode(devices, forKey: .handles)
            case .registrations(let ids): try container.encode(ids, forKey: .registrations)
            case .channel(let id, let credential):
                try container.encode(id, forKey: .channel)
                try container.encodeIfPresent(credential, forKey: .credential)
            case .all: try container.encode(true, forKey: .all)
            }
        }
    }

    /// A device that a notification names by its handle.
    public struct Recipient: Sendable, Equatable, Encodable {
        /// The push service.
        public var service: Service
        /// The device token, registration token or channel.
        public var handle: String
        /// With which of the app's credentials it is reached; nil = the default one.
        public var credential: String?
        /// Your own name for it, at most 200 characters, which ``Delivery/reference`` has again.
        public var reference: String?

        /// Creates a recipient.
        public init(service: Service, handle: String, credential: String? = nil, reference: String? = nil) {
            self.service = service
            self.handle = handle
            self.credential = credential
            self.reference = reference
        }
    }

    /// How urgent it is.
    public enum Priority: String, Sendable, Codable {
        /// At once, also where it costs the device's battery.
        case high
        /// As the push service sees fit.
        case normal
    }

    /// The audience.
    public var to: Audience
    /// The line above the body.
    public var title: String?
    /// The text that is shown.
    ///
    /// Without title and body nothing is shown: the app is woken and handed the data.
    public var body: String?
    /// Handed to the app as it is.
    public var data: [String: String]?
    /// The line between title and body.
    public var subtitle: String?
    /// The address of a picture.
    public var image: String?
    /// What the app opens; it finds it as `link` among the data.
    public var link: String?
    /// The number that the app's icon has from now on; 0 = none.
    public var badge: Int?
    /// How much the number on the app's icon grows.
    public var badgeAdd: Int?
    /// The name of a sound of the app's; nil = the usual one.
    public var sound: String?
    /// The app's name for the kind of notification, which has its buttons at Apple.
    public var category: String?
    /// Its buttons; 1 to 5.
    public var actions: [Action]?
    /// Notifications with the same thread are shown together.
    public var thread: String?
    /// Whether it may disturb; nil = as ``InterruptionLevel/active``.
    public var interruptionLevel: InterruptionLevel?
    /// How relevant it is among those of the app, from 0 to 1.
    public var relevance: Double?
    /// Whether the app is woken as well as the user.
    public var contentAvailable: Bool?
    /// Whether the app may change what is shown.
    public var mutableContent: Bool?
    /// The name of a text of the app's that is the title.
    public var titleLocKey: String?
    /// What is put into the text of ``titleLocKey``.
    public var titleLocArgs: [String]?
    /// The name of a text of the app's that is the subtitle.
    public var subtitleLocKey: String?
    /// What is put into the text of ``subtitleLocKey``.
    public var subtitleLocArgs: [String]?
    /// The name of a text of the app's that is the body.
    public var bodyLocKey: String?
    /// What is put into the text of ``bodyLocKey``.
    public var bodyLocArgs: [String]?
    /// What APNs alone takes.
    public var apns: APNs?
    /// What FCM alone takes.
    public var fcm: FCM?
    /// What WNS alone takes.
    public var wns: WNS?
    /// What browsers alone take.
    public var web: Web?
    /// Payloads in the services' own words, beside or in place of title, body and data.
    public var native: [Service: NativePayload]?
    /// What becomes of Live Activities, in place of title, body, data and native; the audience is then ``Audience/handles(_:)``,
    /// with their tokens or those that start one, or ``Audience/channel(_:credential:)``.
    public var liveActivity: LiveActivity?
    /// The services to send through; nil = all.
    public var services: [Service]?
    /// How urgent it is; nil = normal.
    public var priority: Priority?
    /// For how many seconds the push service may keep it for a device that is off: 0 = now or never, at most 28 days,
    /// nil = as long as the service likes; its job then ends after 24 hours.
    public var ttl: Int?
    /// Replaces an undelivered notification with the same key; at most 64 ASCII characters.
    public var collapse: String?
    /// The start, at most a year ahead; nil = now.
    public var at: Date?
    /// The sender's own name for it, such as a campaign's, by which jobs are listed; at most 100 printable characters.
    public var label: String?
    /// Whether no device is to get it: everything is done but the push, which FCM validates; nil = no.
    public var dryRun: Bool?

    /// Creates a notification.
    ///
    /// One of title, body, data, titleLocKey, bodyLocKey, badge, native, liveActivity and WNS' badge and raw is required. Set the other
    /// members afterwards.
    public init(
        to: Audience,
        title: String? = nil,
        body: String? = nil,
        data: [String: String]? = nil,
        native: [Service: NativePayload]? = nil,
        liveActivity: LiveActivity? = nil,
        services: [Service]? = nil,
        priority: Priority? = nil,
        ttl: Int? = nil,
        collapse: String? = nil,
        at: Date? = nil,
        label: String? = nil,
        dryRun: Bool? = nil
    ) {
        self.to = to
        self.title = title
        self.body = body
        self.data = data
        self.native = native
        self.liveActivity = liveActivity
        self.services = services
        self.priority = priority
        self.ttl = ttl
        self.collapse = collapse
        self.at = at
        self.label = label
        self.dryRun = dryRun
    }
}
