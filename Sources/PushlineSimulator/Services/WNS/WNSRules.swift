import NIOCore
import PushModel

/// Microsoft's rules for one push (contract, 3.2 and 3.5).
struct WNSRules: Sendable {
    /// A fault of a push.
    struct Rejection: Equatable {
        var status: Int
        var description: String
    }

    static let maximumBody = 5000

    /// Checks all but the access token.
    func check(_ request: InboundRequest) -> Rejection? {
        guard request.method == "POST" else { return Rejection(status: 405, description: "Only POST is allowed") }
        if request["transfer-encoding"] != nil { return Self.bad("Chunked bodies are not supported") }
        if request["expect"] != nil { return Self.bad("Expect is not supported") }
        guard let length = request["content-length"].flatMap({ Int($0) }), length == request.bodySize else {
            return Self.bad("Content-Length is required")
        }
        guard let type = request["x-wns-type"] else { return Self.bad("X-WNS-Type is required") }
        let given = (request["content-type"] ?? "").prefix { $0 != ";" }.lowercased()
        switch type {
        case "wns/toast", "wns/tile", "wns/badge":
            guard given == "text/xml" else { return Self.bad("Content-Type must be text/xml for \(type)") }
        case "wns/raw":
            guard given == "application/octet-stream" else {
                return Self.bad("Content-Type must be application/octet-stream for wns/raw")
            }
        default:
            return Self.bad("X-WNS-Type is none of toast, tile, badge, raw")
        }
        if let rejection = Self.optionalHeaders(request) { return rejection }
        let usualPolicy = ["wns/tile", "wns/badge"].contains(type) ? "cache" : "no-cache"
        if request["x-wns-ttl"].flatMap({ Int($0) }) == 0, request["x-wns-cache-policy"] ?? usualPolicy == "cache" {
            return Self.bad("Ttl value conflicts with X-WNS-Cache-Policy.")
        }
        if request.bodySize > Self.maximumBody {
            return Rejection(status: 413, description: "The payload exceeds 5000 bytes")
        }
        guard type != "wns/raw" else { return nil }
        let root = String(type.dropFirst("wns/".count))
        guard (try? XMLReader.read(Array(request.body.readableBytesView)))?.name == root else {
            return Self.bad("The payload is not well-formed XML with the root \(root)")
        }
        return nil
    }

    private static func optionalHeaders(_ request: InboundRequest) -> Rejection? {
        if let tag = request["x-wns-tag"] {
            guard (1...16).contains(tag.utf8.count), tag.utf8.allSatisfy({ FormCoding.isAlphanumeric($0) }) else {
                return Self.bad("X-WNS-Tag is at most 16 alphanumerics")
            }
        }
        if let ttl = request["x-wns-ttl"] {
            guard let seconds = Int(ttl), seconds >= 0 else { return Self.bad("X-WNS-TTL is a number of seconds") }
        }
        if let priority = request["x-wns-priority"], !["1", "2", "3", "4"].contains(priority) {
            return Self.bad("X-WNS-PRIORITY is 1 to 4")
        }
        if let policy = request["x-wns-cache-policy"], !["cache", "no-cache"].contains(policy) {
            return Self.bad("X-WNS-Cache-Policy is cache or no-cache")
        }
        if let wanted = request["x-wns-requestforstatus"], !["true", "false"].contains(wanted) {
            return Self.bad("X-WNS-RequestForStatus is true or false")
        }
        if request["x-wns-suppresspopup"] != nil { return Self.bad("X-WNS-SuppressPopup is for phones alone") }
        return nil
    }

    private static func bad(_ description: String) -> Rejection {
        Rejection(status: 400, description: description)
    }
}
