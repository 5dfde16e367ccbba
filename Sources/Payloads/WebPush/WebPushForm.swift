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
              Topic:
                description: base64url without padding of 1 to 24 bytes, for Apple decodes it.
                type: string
                pattern: "^(?:[A-Za-z0-9_-]{4}){0,7}(?:[A-Za-z0-9_-]{4}|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048]|[A-Za-z0-9_-][AQgw])$"
        """#

    static func read(_ payload: JSONValue, headers: HeaderList) throws(InvalidValue) -> NativePayload {
        try headers.require("TTL", "must be a number of seconds") { HeaderList.isNumber($0, digits: 7) }
        try headers.require("Urgency", oneOf: Self.urgencies)
        try headers.require(
            "Topic",
            "must be base64url of 1 to 24 bytes, without padding: Apple decodes it and refuses other texts, for each device",
            Self.isTopic
        )
        guard try !payload.uniqueMembers("payload").isEmpty else {
            throw InvalidValue(member: "payload", "must not be empty")
        }
        return NativePayload(kind: .webMessage, headers: headers.headers, body: payload.bytes)
    }

    /// Whether a text can be a topic: of at most 32 characters (RFC 8030, section 5.4), and what base64url writes.
    ///
    /// Apple decodes it, and refuses what cannot be decoded, for each device: lengths of 1 modulo 4, and bits that are left over.
    static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count) && Base64URL.decode(text).map { Base64URL.encode($0) } == text
    }
}
