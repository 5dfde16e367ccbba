extension PushNotification {
    /// A button of a notification.
    public struct Action: Sendable, Equatable, Encodable {
        /// What the app is told when it is pressed.
        public var id: String
        /// What is on it.
        public var title: String
        /// The address of a picture for it.
        public var icon: String?

        /// Creates a button.
        public init(id: String, title: String, icon: String? = nil) {
            self.id = id
            self.title = title
            self.icon = icon
        }
    }

    /// Whether a notification of Apple's may disturb.
    public enum InterruptionLevel: String, CaseIterable, Sendable, Encodable {
        /// It goes to the list alone.
        case passive
        /// It is shown at once.
        case active
        /// It is shown also while the user wants no others.
        case timeSensitive = "time-sensitive"
    }

    /// What APNs alone takes.
    public struct APNs: Sendable, Equatable, Encodable {
        /// A critical alert, with its sound, also on a muted device; Apple must have allowed it to the app.
        public var critical: Bool?
        /// The volume of a critical alert, from 0 to 1.
        public var volume: Double?
        /// Whether it makes no sound, in place of the usual one and of ``PushNotification/sound``.
        public var silent: Bool?
        /// The window of the app that it belongs in.
        public var targetContent: String?
        /// What a Focus of the device filters by.
        public var filterCriteria: String?
        /// 10, 5 or 1, as Apple has it.
        public var priority: Int?
        /// In place of ``PushNotification/ttl``, in seconds.
        public var ttl: Int?
        /// In place of ``PushNotification/collapse``.
        public var collapse: String?

        /// Creates an empty object.
        public init() {}
    }

    /// What FCM alone takes.
    public struct FCM: Sendable, Equatable, Encodable {
        /// Who sees it on a locked screen.
        public enum Visibility: String, Sendable, Encodable {
            case `private`
            case `public`
            case secret
        }

        /// The app's notification channel.
        public var channel: String?
        /// The name of a picture of the app's.
        public var icon: String?
        /// The colour of the icon, as `#rrggbb`.
        public var color: String?
        /// Replaces a shown notification with the same tag.
        public var tag: String?
        /// The intent that opens the app.
        public var clickAction: String?
        /// Who sees it on a locked screen.
        public var visibility: Visibility?
        /// The label of Google's reports; at most 50 characters.
        public var analyticsLabel: String?
        /// Whether the app gets it before the device is unlocked first.
        public var directBoot: Bool?
        /// In place of ``PushNotification/priority``.
        public var priority: Priority?
        /// In place of ``PushNotification/ttl``, in seconds.
        public var ttl: Int?
        /// In place of ``PushNotification/collapse``.
        public var collapse: String?

        /// Creates an empty object.
        public init() {}
    }

    /// What WNS alone takes.
    public struct WNS: Sendable, Equatable, Encodable {
        /// How long a toast stays, and what it sounds like.
        public enum Scenario: String, Sendable, Encodable {
            case reminder
            case alarm
            case incomingCall
            case urgent
        }

        /// A number from 0 to 99, or the name of one of Microsoft's pictures.
        public enum Badge: Sendable, Equatable, Encodable {
            case number(Int)
            case glyph(String)

            /// Writes the number or the name.
            public func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                switch self {
                case .number(let number): try container.encode(number)
                case .glyph(let name): try container.encode(name)
                }
            }
        }

        /// What kind of toast it is.
        public var scenario: Scenario?
        /// The sound of a toast, in place of the usual one: `ms-winsoundevent:` and the name of a Windows sound, or `ms-appx:` and a file of the app.
        public var sound: String?
        /// Whether a toast makes no sound, in place of the usual one.
        public var silent: Bool?
        /// Whether texts and image go to the app's tile, in place of a toast.
        public var tile: Bool?
        /// A badge on the app's tile, in place of a toast; without a message the send goes to Windows alone.
        public var badge: Badge?
        /// A text for the app, in place of a toast; without a message the send goes to Windows alone.
        public var raw: String?
        /// Replaces a tile with the same tag; at most 16 letters and digits.
        public var tag: String?
        /// 1 (high) to 4 (very low), as Microsoft has it.
        public var priority: Int?
        /// In place of ``PushNotification/ttl``, in seconds.
        public var ttl: Int?

        /// Creates an empty object.
        public init() {}
    }

    /// What browsers alone take.
    public struct Web: Sendable, Equatable, Encodable {
        /// How urgent it is (RFC 8030).
        public enum Urgency: String, Sendable, Encodable {
            case veryLow = "very-low"
            case low
            case normal
            case high
        }

        /// The address of its picture.
        public var icon: String?
        /// The address of the small picture for where there is little room.
        public var badge: String?
        /// Replaces a shown notification with the same tag.
        public var tag: String?
        /// Whether one that replaces another alerts again; it needs a tag.
        public var renotify: Bool?
        /// Whether it stays until the user does something.
        public var requireInteraction: Bool?
        /// Whether it makes no sound.
        public var silent: Bool?
        /// How urgent it is, in place of ``PushNotification/priority``.
        public var urgency: Urgency?
        /// In place of ``PushNotification/ttl``, in seconds.
        public var ttl: Int?
        /// In place of ``PushNotification/collapse``.
        public var collapse: String?

        /// Creates an empty object.
        public init() {}
    }
}
