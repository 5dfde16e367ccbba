/// A notification in a push service's own form, shared by all devices of a batch.
package struct NativePayload: Sendable, Equatable {
    /// The kind of a payload, such as a push type of APNs; each service lists its kinds in its descriptor.
    package struct Kind: Sendable, Hashable {
        /// The service that takes it.
        package let pns: PushService
        /// Its number in messages, among the kinds of its service: never that of another, not even of a removed one.
        package let number: UInt8
        /// The service's own word for it.
        package let name: String
        /// The most bytes of a payload of this kind, as its service counts them.
        package let maximumPayload: Int

        init(_ pns: PushService, _ number: UInt8, _ name: String, maximumPayload: Int) {
            self.pns = pns
            self.number = number
            self.name = name
            self.maximumPayload = maximumPayload
        }

        package static func == (left: Kind, right: Kind) -> Bool {
            left.pns == right.pns && left.number == right.number
        }

        /// By its numbers: batches are grouped by kind.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(self.pns)
            hasher.combine(self.number)
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
    /// The bytes for the service, without a device: APNs' JSON body, FCM's `message` without its target, WNS' XML.
    package let body: [UInt8]

    package init(kind: Kind, headers: [Header] = [], body: [UInt8]) {
        self.kind = kind
        self.headers = headers
        self.body = body
    }

    /// The value of a header, by the service's own spelling of its name.
    package func header(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }
}

/// As a job's work has the sender's own forms: their bytes are text, which the API has read.
extension NativePayload: Codable {
    private enum CodingKeys: String, CodingKey { case pns, kind, headers, body }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let pns = try container.decode(PushService.self, forKey: .pns)
        let name = try container.decode(String.self, forKey: .kind)
        guard let kind = pns.descriptor.kinds.first(where: { $0.name == name }) else {
            throw DecodingError.dataCorruptedError(
                forKey: .kind,
                in: container,
                debugDescription: "\(pns.rawValue) has no payloads of the kind \(name)"
            )
        }
        self.kind = kind
        self.headers = try container.decode([Header].self, forKey: .headers)
        self.body = Array(try container.decode(String.self, forKey: .body).utf8)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.kind.pns, forKey: .pns)
        try container.encode(self.kind.name, forKey: .kind)
        try container.encode(self.headers, forKey: .headers)
        try container.encode(String(decoding: self.body, as: UTF8.self), forKey: .body)
    }
}
