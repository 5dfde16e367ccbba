package import PushModel

/// Two members of a message that cannot stand together, or of which one needs the other.
///
/// The one table of them is the check of a send and what the API's description says of it. A flag that is not set counts as not given.
package struct MessageRule: Sendable {
    /// The member that is wrong where the rule is broken.
    let member: String
    let other: String
    /// Whether the member needs the other one, or excludes it.
    let needsOther: Bool
    let reason: String

    private init(_ member: String, needs other: String, _ why: String) {
        (self.member, self.other, self.needsOther) = (member, other, true)
        self.reason = "needs \(other): \(why)"
    }

    private init(_ member: String, excludes other: String, _ why: String) {
        (self.member, self.other, self.needsOther) = (member, other, false)
        self.reason = "cannot stand beside \(other): \(why)"
    }

    private static let onePush = "WNS takes one of tile, badge and raw in a push"

    /// All of them.
    package static let all: [MessageRule] = [
        MessageRule("titleLocArgs", needs: "titleLocKey", "it names the text that they belong in"),
        MessageRule("subtitleLocArgs", needs: "subtitleLocKey", "it names the text that they belong in"),
        MessageRule("bodyLocArgs", needs: "bodyLocKey", "it names the text that they belong in"),
        MessageRule("interruptionLevel", excludes: "apns.critical", "critical is a level of its own"),
        MessageRule("apns.volume", needs: "apns.critical", "other sounds have the device's volume"),
        MessageRule("apns.silent", excludes: "apns.critical", "a critical alert has a sound"),
        MessageRule("wns.silent", excludes: "wns.sound", "it turns the sound off"),
        MessageRule("wns.badge", excludes: "wns.tile", Self.onePush),
        MessageRule("wns.raw", excludes: "wns.tile", Self.onePush),
        MessageRule("wns.raw", excludes: "wns.badge", Self.onePush),
        MessageRule("web.renotify", needs: "web.tag", "browsers show no notification that renotifies without a tag"),
    ]

    /// Checks the members of a message together.
    ///
    /// - Throws: ``InvalidValue`` that names the member.
    package static func check(_ members: MessageMembers) throws(InvalidValue) {
        func isGiven(_ name: String) -> Bool { (members[name] ?? .bool(false)) != .bool(false) }
        for rule in Self.all where isGiven(rule.member) && isGiven(rule.other) != rule.needsOther {
            throw InvalidValue(member: rule.member, rule.reason)
        }
    }
}

// In the API's description.
extension MessageRule {
    /// The schema of a rule within what a service takes alone, or of one that is about more than that.
    ///
    /// - Parameter pns: The service; nil = the send.
    /// - Returns: YAML on one line for each such rule.
    package static func schemas(of pns: PushService?) -> [String] {
        Self.all.filter { $0.service == pns }.map { rule in
            let other = rule.needsOther ? Self.given(rule.other, in: pns) : Self.notGiven(rule.other, in: pns)
            return "{anyOf: [\(Self.notGiven(rule.member, in: pns)), \(other)]}"
        }
    }

    /// The service whose own object has both members.
    private var service: PushService? {
        let services = Set([self.member, self.other].map { MessageMember.service(of: $0) })
        return services.count == 1 ? services.first ?? nil : nil
    }

    /// The names on the way to a member from the object that the schema is of.
    private static func path(_ name: String, in pns: PushService?) -> [Substring] {
        Array(name.split(separator: ".").drop { $0 == pns?.rawValue ?? "" })
    }

    private static func given(_ name: String, in pns: PushService?) -> String {
        let value = Self.isFlag(name) ? "{const: true}" : #"{not: {type: "null"}}"#
        return Self.path(name, in: pns).reversed().reduce(value) { schema, part in
            "{type: object, required: [\(part)], properties: {\(part): \(schema)}}"
        }
    }

    private static func notGiven(_ name: String, in pns: PushService?) -> String {
        let value = Self.isFlag(name) ? "{enum: [false, null]}" : #"{type: "null"}"#
        return Self.path(name, in: pns).reversed().reduce(value) { schema, part in
            "{properties: {\(part): \(schema)}}"
        }
    }

    private static func isFlag(_ name: String) -> Bool {
        MessageMember.named[name].map { $0.value.read(.bool(true)) != nil } ?? false
    }
}
