/// A notification in a push service's own form, shared by all devices of a batch.
package struct NativePayload: Sendable, Equatable {
    /// The kind of a payload: a push type of APNs, a type of WNS, or FCM's message.
    ///
    /// The raw value is the service's own word.
    package enum Kind: String, Codable, Sendable, CaseIterable {
        /// Shown to the user (APNs).
        case alert
        /// Wakes the app (APNs, priority 5).
        case background
        /// An incoming call (APNs).
        case voip
        /// The data of a watch's complication (APNs).
        case complication
        /// A change of files (APNs).
        case fileprovider
        /// A command for a managed device (APNs).
        case mdm
        /// A question where the device is (APNs).
        case location
        /// An update of a Live Activity (APNs).
        case liveactivity
        /// A call of Push to Talk (APNs).
        case pushtotalk
        /// A new state of a control (APNs).
        case controls
        /// A new timeline of widgets (APNs).
        case widgets
        /// An FCM message object without its target.
        case message
        /// A WNS toast.
        case toast
        /// A tile of the start menu (WNS).
        case tile
        /// A badge on the app's icon (WNS).
        case badge
        /// Bytes for a Windows app (`wns/raw`).
        case raw

        /// The service that takes it.
        package var pns: PushService {
            switch self {
            case .alert, .background, .voip, .complication, .fileprovider, .mdm, .location, .liveactivity, .pushtotalk,
                .controls, .widgets:
                .apns
            case .message: .fcm
            case .toast, .tile, .badge, .raw: .wns
            }
        }
    }

    /// A header that the sender chose, in the service's own spelling.
    package struct Header: Codable, Sendable, Hashable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }

        /// Whether it cannot break out of its line: a token, and visible ASCII with spaces within.
        package var isSafe: Bool {
            !self.name.isEmpty && self.name.utf8.allSatisfy(Self.isTokenByte) && !self.value.isEmpty
                && self.value.utf8.allSatisfy { (0x20...0x7E).contains($0) } && !self.value.hasPrefix(" ")
                && !self.value.hasSuffix(" ")
        }

        private static func isTokenByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }

    package let kind: Kind
    /// Headers that go before those of the send's options; each name once.
    package let headers: [Header]
    /// The bytes for the service.
    ///
    /// APNs: the JSON body. FCM: the `message` object without a target, never an empty object. WNS: the XML or the raw bytes.
    package let body: [UInt8]

    package init(kind: Kind, headers: [Header] = [], body: [UInt8]) {
        self.kind = kind
        self.headers = headers
        self.body = body
    }

    /// The value of a header, by the service's own spelling of its name.
    package func header(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }
}

/// As a job's work has the sender's own forms: their bytes are text, which the API has read as JSON.
extension NativePayload: Codable {
    private enum CodingKeys: String, CodingKey { case kind, headers, body }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.kind = try container.decode(Kind.self, forKey: .kind)
        self.headers = try container.decode([Header].self, forKey: .headers)
        self.body = Array(try container.decode(String.self, forKey: .body).utf8)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.kind, forKey: .kind)
        try container.encode(self.headers, forKey: .headers)
        try container.encode(String(decoding: self.body, as: UTF8.self), forKey: .body)
    }
}
