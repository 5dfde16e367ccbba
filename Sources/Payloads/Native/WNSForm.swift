import PushModel

/// The sender's own form for WNS.
enum WNSForm {
    /// The headers that a send may set; those of Windows Phone alone are not.
    static let headers = [
        "X-WNS-Type", "X-WNS-Cache-Policy", "X-WNS-PRIORITY", "X-WNS-RequestForStatus", "X-WNS-Tag", "X-WNS-TTL",
    ]
    private static let kinds: [NativePayload.Kind] = [.toast, .tile, .badge, .raw]

    static func read(_ body: String, headers given: HeaderList) throws(InvalidValue) -> NativePayload {
        var headers = given
        let type = headers.take("X-WNS-Type") ?? "wns/toast"
        guard let kind = Self.kinds.first(where: { "wns/\($0.rawValue)" == type }) else {
            let names = Self.kinds.map { "wns/\($0.rawValue)" }.joined(separator: ", ")
            throw InvalidValue(member: "headers.X-WNS-Type", "must be one of \(names)")
        }
        try headers.require("X-WNS-Cache-Policy", oneOf: ["cache", "no-cache"])
        try headers.require("X-WNS-PRIORITY", oneOf: ["1", "2", "3", "4"])
        try headers.require("X-WNS-RequestForStatus", oneOf: ["true", "false"])
        try headers.require("X-WNS-Tag", "must have at most 16 letters and digits", Self.isShortWord)
        try headers.require("X-WNS-TTL", "must be a number of seconds") { HeaderList.isNumber($0, digits: 9) }
        guard !body.isEmpty else { throw InvalidValue(member: "body", "must not be empty") }
        // What is too large is refused for that, and need not be read.
        if kind != .raw, body.utf8.count <= kind.maximumPayload {
            guard (try? XMLReader.read(Array(body.utf8)))?.name == kind.rawValue else {
                throw InvalidValue(
                    member: "body",
                    "must be well-formed XML with the root <\(kind.rawValue)>, without a document type, as X-WNS-Type \(type) says"
                )
            }
        }
        return NativePayload(kind: kind, headers: headers.headers, body: Array(body.utf8))
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
