import PushModel

extension NativeForm {
    static let wns = NativeForm(
        member: "body",
        headers: WNSForm.headers,
        schema: WNSForm.schema,
        keepUntil: KeepUntil.seconds("X-WNS-TTL"),
        make: { body, headers, _ throws(InvalidValue) in
            guard case .string(let text) = body else {
                throw InvalidValue(member: "body", body.mustBe("a string"))
            }
            return try WNSForm.read(text, headers: headers)
        }
    )
}

/// The sender's own form for WNS.
enum WNSForm {
    /// The headers that a send may set; those of Windows Phone alone are not.
    static let headers = [
        "X-WNS-Type", "X-WNS-Cache-Policy", "X-WNS-PRIORITY", "X-WNS-RequestForStatus", "X-WNS-Tag", "X-WNS-TTL",
    ]
    private static let types = NativePayload.Kind.allOfWNS.map { "wns/\($0.name)" }

    static let schema = #"""
        type: [object, "null"]
        additionalProperties: false
        required: [body]
        properties:
          body:
            description: >-
              For toast, tile and badge well-formed XML in UTF-8 with that root and without a document type, for raw text, not other bytes;
              at most 5,000 bytes of UTF-8, which are sent as they are.
            type: string
            minLength: 1
          headers:
            type: [object, "null"]
            additionalProperties: false
            properties:
              X-WNS-Type:
                description: Left out = by the root element of the body.
                enum: [\#(Self.types.joined(separator: ", "))]
              X-WNS-Cache-Policy: {enum: [cache, no-cache]}
              X-WNS-PRIORITY: {enum: ["1", "2", "3", "4"]}
              X-WNS-RequestForStatus: {enum: ["true", "false"]}
              X-WNS-Tag: {type: string, pattern: "^[A-Za-z0-9]{1,16}$"}
              X-WNS-TTL: {type: string, pattern: "^[0-9]{1,9}$"}
            not:
              required: [X-WNS-TTL, X-WNS-Cache-Policy]
              properties: {X-WNS-TTL: {pattern: "^0+$"}, X-WNS-Cache-Policy: {const: cache}}
        """#

    static func read(_ body: String, headers given: HeaderList) throws(InvalidValue) -> NativePayload {
        var headers = given
        guard !body.isEmpty else { throw InvalidValue(member: "body", "must not be empty") }
        let stated = headers.take("X-WNS-Type")
        let kind = try Self.kind(of: body, stated: stated)
        try headers.require("X-WNS-Cache-Policy", oneOf: ["cache", "no-cache"])
        try headers.require("X-WNS-PRIORITY", oneOf: ["1", "2", "3", "4"])
        try headers.require("X-WNS-RequestForStatus", oneOf: ["true", "false"])
        try headers.require("X-WNS-Tag", "must have at most 16 letters and digits", Self.isShortWord)
        try headers.require("X-WNS-TTL", "must be a number of seconds") { HeaderList.isNumber($0, digits: 9) }
        if headers.header("X-WNS-TTL").flatMap({ Int($0) }) == 0, headers.header("X-WNS-Cache-Policy") == "cache" {
            throw InvalidValue(
                member: "headers.X-WNS-Cache-Policy",
                "must be no-cache or left out: WNS refuses cache beside an X-WNS-TTL of 0"
            )
        }
        return NativePayload(kind: kind, headers: headers.headers, body: Array(body.utf8))
    }

    /// The kind of a notification: the stated one, or the one that its root element says.
    private static func kind(of body: String, stated: String?) throws(InvalidValue) -> NativePayload.Kind {
        let kind = NativePayload.Kind.allOfWNS.first { "wns/\($0.name)" == stated }
        guard stated == nil || kind != nil else {
            throw InvalidValue(member: "headers.X-WNS-Type", "must be one of \(Self.types.joined(separator: ", "))")
        }
        // What is too large is refused for that, and need not be read.
        guard kind != .raw, body.utf8.count <= NativePayload.Kind.toast.maximumPayload else { return kind ?? .toast }
        let root = (try? XMLReader.read(Array(body.utf8)))?.name
        guard let kind else {
            // Not raw: what should be XML and is none would go out as it is.
            if let found = NativePayload.Kind.allOfWNS.first(where: { $0 != .raw && $0.name == root }) { return found }
            throw InvalidValue(
                member: "body",
                "must be well-formed XML with the root <toast>, <tile> or <badge>, without a document type; a text needs the X-WNS-Type wns/raw"
            )
        }
        guard root == kind.name else {
            throw InvalidValue(
                member: "body",
                "must be well-formed XML with the root <\(kind.name)>, without a document type, as X-WNS-Type wns/\(kind.name) says"
            )
        }
        return kind
    }

    private static func isShortWord(_ text: String) -> Bool {
        (1...16).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"):
                    true
                default: false
                }
            }
    }
}
