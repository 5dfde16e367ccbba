import HTTPTypes
import HubWire
import Intake
import PushModel

/// A request whose token was checked and whose body was read.
final class HubRequest: Sendable {
    let target: HubTarget
    let app: AppID
    let spec: AppSpec
    let rule: HubRule
    let headers: HTTPFields
    let body: [UInt8]
    let trackingID: String

    init(
        target: HubTarget,
        pass: HubGate.Pass,
        headers: HTTPFields,
        body: [UInt8],
        trackingID: String
    ) {
        self.target = target
        (self.app, self.spec, self.rule) = (pass.app, pass.spec, pass.rule)
        self.headers = headers
        self.body = body
        self.trackingID = trackingID
    }

    /// The value of a header of the wire.
    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { self.headers[$0] } }

    /// The name under which jobs of the rule are listed.
    var callerName: String { Self.name(self.rule) }

    static func name(_ rule: HubRule) -> String { "hub:\(rule.name)" }

    /// Who asks: a rule that may manage is the app's backend, and any other is in the hands of devices.
    var caller: Caller { Self.caller(self.rule) }

    static func caller(_ rule: HubRule) -> Caller {
        let role: Role = rule.rights.contains(.manage) ? .operator : .user
        return Caller(app: rule.app, identity: .key(Self.name(rule)), role: role)
    }

    /// Refuses tags that the app reserves, unless the rule may manage: devices have the key of a rule that may listen.
    ///
    /// - Parameters:
    ///   - tags: The tags that the client gives.
    ///   - kept: Those that the registration has already.
    /// - Throws: `InvalidValue`.
    func check(_ tags: [Tag], kept: [Tag] = []) throws(InvalidValue) {
        try TagPolicy(self.spec).check(tags, kept: kept, claimedBy: self.rule)
    }

    /// The absolute address of something of this hub.
    func address(_ parts: String...) -> String {
        let path = parts.map(PercentCoding.encode).joined(separator: "/")
        return "https://\(self.target.authority)/\(self.target.hub)/\(path)?api-version=\(self.target.version)"
    }
}

/// Where a request goes, as its head says.
struct HubTarget: Sendable {
    /// The host of the request, with its port.
    let authority: String
    /// The path as it came, which a token's audience covers.
    let path: String
    /// The hub's name, as it came.
    let hub: String
    /// The parts behind it, unescaped.
    let parts: [String]
    /// The query's parameters, by names in lower case; one that has no value is empty.
    let query: [String: String]

    /// - Returns: nil for a path or host that cannot be read.
    init?(_ head: HTTPRequest) {
        guard let authority = head.authority, !authority.isEmpty,
            authority.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/?#@\\\"<>".utf8.contains($0) }),
            let target = head.path
        else { return nil }
        let path = target.prefix { $0 != "?" }
        var parts: [String] = []
        for part in PercentCoding.parts(of: path, at: "/", omittingEmpty: true) {
            guard let text = PercentCoding.decode(part, plusIsSpace: false) else { return nil }
            parts.append(text)
        }
        guard let hub = parts.first else { return nil }
        self.authority = authority
        self.path = String(path)
        self.hub = hub
        self.parts = Array(parts.dropFirst())
        self.query = Self.parameters(target.dropFirst(path.count + 1))
    }

    private static func parameters(_ text: Substring) -> [String: String] {
        var parameters: [String: String] = [:]
        for part in PercentCoding.parts(of: text, at: "&", omittingEmpty: true) {
            let halves = PercentCoding.parts(of: part, at: "=", maxSplits: 1)
            let (name, value) = (halves[0], halves.count == 2 ? halves[1] : "")
            let key = (PercentCoding.decode(name, plusIsSpace: true) ?? String(name)).lowercased()
            // The first counts.
            if parameters[key] == nil {
                parameters[key] = PercentCoding.decode(value, plusIsSpace: true) ?? String(value)
            }
        }
        return parameters
    }

    /// Whether a flag is there, without a value or as true.
    func has(_ flag: String) -> Bool { self.query[flag].map { $0.lowercased() != "false" } ?? false }

    /// The version that the client asked for; the wire does not depend on it.
    var version: String {
        let given = self.query["api-version"] ?? ""
        let isPlain = given.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }
        return (1...20).contains(given.utf8.count) && isPlain ? given : "2020-06"
    }
}
