import PushModel

extension NativeForm {
    static let web = NativeForm(
        member: "payload",
        headers: WebPushForm.headers,
        schema: WebPushForm.schema,
        keepUntil: KeepUntil.seconds("TTL"),
        make: { payload, headers, _ throws(InvalidValue) in try WebPushForm.read(payload, headers: headers) }
    )
}

/// The sender's own form for Web Push.
enum WebPushForm {
    /// The headers that a send may set.
    static let headers = ["TTL", "Urgency", "Topic"]
    private static let urgencies = ["very-low", "low", "normal", "high"]

    static let schema = #"""
        type: [object, "null"]
        additionalProperties: false
        required: [payload]
        properties:
          payload:
            description: >-
              The JSON that the page's service worker gets, such as a declarative message (`web_push` 8030); at most 3,993 bytes, which are
              encrypted for each browser.
            type: object
            minProperties: 1
          headers:
            type: [object, "null"]
            additionalProperties: false
            properties:
              TTL: {type: string, pattern: "^[0-9]{1,7}$", description: In seconds. Push services keep a message for 30 days at most.}
              Urgency: {enum: [\#(Self.urgencies.joined(separator: ", "))]}
              Topic: {type: string, pattern: "^[A-Za-z0-9_-]{1,32}$"}
        """#

    static func read(_ payload: JSONValue, headers: HeaderList) throws(InvalidValue) -> NativePayload {
        try headers.require("TTL", "must be a number of seconds") { HeaderList.isNumber($0, digits: 7) }
        try headers.require("Urgency", oneOf: Self.urgencies)
        try headers.require("Topic", "must have at most 32 letters, digits, - and _", Self.isTopic)
        guard try !payload.uniqueMembers("payload").isEmpty else {
            throw InvalidValue(member: "payload", "must not be empty")
        }
        return NativePayload(kind: .webMessage, headers: headers.headers, body: payload.bytes)
    }

    /// Whether a text can be a topic (RFC 8030, section 5.4).
    static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
