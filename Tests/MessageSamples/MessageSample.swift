package import PushModel

/// A member of a message with a legal value, and what arrives of it.
package struct MessageSample: Sendable {
    /// Its path in a send.
    package let name: String
    package let value: JSONValue
    /// The members without which it is refused, or dropped.
    package let needs: [String]
    /// By service, what must be in the push: parts of its body, or headers as `name: value` with the name in lower case.
    ///
    /// A service that is not here gets the same as without the member, beside a body. Times are so many seconds from the beginning of the send.
    package let arrives: [PushService: [String]]

    private init(
        _ name: String,
        _ value: JSONValue,
        needs: [String] = [],
        _ arrives: [PushService: [String]]
    ) {
        self.name = name
        self.value = value
        self.needs = needs
        self.arrives = arrives
    }

    /// The samples as members of a send: those of a service are in its object.
    package static func members(_ samples: [MessageSample]) -> [JSONValue.Member] {
        samples.reduce(into: []) { members, sample in
            let parts = sample.name.split(separator: ".").map(String.init)
            guard parts.count > 1 else { return members.append(.init(sample.name, sample.value)) }
            let own = JSONValue.Member(parts[1], sample.value)
            let index = members.firstIndex { $0.name == parts[0] }
            if let index, case .object(let others) = members[index].value {
                members[index] = .init(parts[0], .object(others + [own]))
            } else {
                members.append(.init(parts[0], .object([own])))
            }
        }
    }

    /// By their names.
    package static let named = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.name, $0) })

    /// The members that all others can stand beside: each of these replaces or excludes another.
    package static let together = Self.all.filter {
        !["interruptionLevel", "apns.silent", "wns.silent", "wns.tile", "wns.badge", "wns.raw"].contains($0.name)
    }

    private static let picture = "https://a.test/i.png"
    private static let buttons = JSONValue.array([
        .members(["id": .string("yes"), "title": .string("Yes"), "icon": .string("https://a.test/y.png")])
    ])

    /// All of them.
    package static let all: [MessageSample] = Self.neutral + Self.ofAPNs + Self.ofFCM + Self.ofWNS + Self.ofWeb

    private static let neutral: [MessageSample] = [
        MessageSample(
            "title",
            .string("Sale"),
            [
                .apns: [#""title":"Sale""#], .fcm: [#""title":"Sale""#], .wns: ["<text>Sale</text>"],
                .web: [#""title":"Sale""#],
            ]
        ),
        MessageSample(
            "body",
            .string("begins"),
            [
                .apns: [#""alert":"begins""#], .fcm: [#""body":"begins""#], .wns: ["<text>begins</text>"],
                .web: [#""body":"begins""#],
            ]
        ),
        MessageSample(
            "data",
            .object([.init("order", .string("4711"))]),
            [
                .apns: [#"},"order":"4711"}"#], .fcm: [#""data":{"order":"4711"}"#],
                .wns: [#"launch="{&quot;order&quot;:&quot;4711&quot;}""#], .web: [#""data":{"order":"4711"}"#],
            ]
        ),
        MessageSample(
            "subtitle",
            .string("subtitle"),
            [.apns: [#""subtitle":"subtitle""#], .wns: ["<text>subtitle</text>"]]
        ),
        MessageSample(
            "image",
            .string(Self.picture),
            [
                .apns: [#""image":"https://a.test/i.png""#, #""mutable-content":1"#],
                .fcm: [#""image":"https://a.test/i.png""#], .wns: [#"<image src="https://a.test/i.png"/>"#],
                .web: [#""image":"https://a.test/i.png""#],
            ]
        ),
        MessageSample(
            "link",
            .string("shop://sale"),
            [
                .apns: [#"},"link":"shop://sale"}"#], .fcm: [#""data":{"link":"shop://sale"}"#],
                .wns: [#"launch="{&quot;link&quot;:&quot;shop://sale&quot;}""#],
                .web: [#""data":{"link":"shop://sale"}"#],
            ]
        ),
        MessageSample("badge", .integer(7), [.apns: [#""badge":7"#], .web: [#""app_badge":7"#]]),
        MessageSample("badgeAdd", .integer(2), [.fcm: [#""notification_count":2"#]]),
        MessageSample("sound", .string("sound"), [.apns: [#""sound":"sound""#], .fcm: [#""sound":"sound""#]]),
        MessageSample("category", .string("category"), [.apns: [#""category":"category""#]]),
        MessageSample(
            "actions",
            Self.buttons,
            [
                .wns: [
                    #"<actions><action content="Yes" arguments="yes" imageUri="https://a.test/y.png"/></actions>"#
                ],
                .web: [#""actions":[{"action":"yes","title":"Yes","icon":"https://a.test/y.png"}]"#],
            ]
        ),
        MessageSample("thread", .string("thread"), [.apns: [#""thread-id":"thread""#]]),
        MessageSample(
            "interruptionLevel",
            .string("time-sensitive"),
            [.apns: [#""interruption-level":"time-sensitive""#]]
        ),
        MessageSample("relevance", .number("0.5"), [.apns: [#""relevance-score":0.5"#]]),
        MessageSample("contentAvailable", .bool(true), [.apns: [#""content-available":1"#]]),
        MessageSample("mutableContent", .bool(true), [.apns: [#""mutable-content":1"#]]),
        MessageSample(
            "titleLocKey",
            .string("titleLocKey"),
            [
                .apns: [#""title-loc-key":"titleLocKey""#], .fcm: [#""title_loc_key":"titleLocKey""#],
                .wns: ["<text>ms-resource:titleLocKey</text>"],
            ]
        ),
        MessageSample(
            "titleLocArgs",
            .strings(["a"]),
            needs: ["titleLocKey"],
            [.apns: [#""title-loc-args":["a"]"#], .fcm: [#""title_loc_args":["a"]"#]]
        ),
        MessageSample(
            "subtitleLocKey",
            .string("subtitleLocKey"),
            [
                .apns: [#""subtitle-loc-key":"subtitleLocKey""#], .wns: ["<text>ms-resource:subtitleLocKey</text>"],
            ]
        ),
        MessageSample(
            "subtitleLocArgs",
            .strings(["b"]),
            needs: ["subtitleLocKey"],
            [.apns: [#""subtitle-loc-args":["b"]"#]]
        ),
        MessageSample(
            "bodyLocKey",
            .string("bodyLocKey"),
            [.apns: [#""loc-key":"bodyLocKey""#], .fcm: [#""body_loc_key":"bodyLocKey""#]]
        ),
        MessageSample(
            "bodyLocArgs",
            .strings(["c"]),
            needs: ["bodyLocKey"],
            [.apns: [#""loc-args":["c"]"#], .fcm: [#""body_loc_args":["c"]"#]]
        ),
    ]

    private static let ofAPNs: [MessageSample] = [
        MessageSample(
            "apns.critical",
            .bool(true),
            [.apns: [#""sound":{"critical":1,"name":"default"}"#, #""interruption-level":"critical""#]]
        ),
        MessageSample(
            "apns.volume",
            .number("0.25"),
            needs: ["apns.critical"],
            [.apns: [#""sound":{"critical":1,"name":"default","volume":0.25}"#]]
        ),
        MessageSample("apns.silent", .bool(true), [.apns: [#"{"aps":{"alert":"B"}}"#]]),
        MessageSample(
            "apns.targetContent",
            .string("apnstargetContent"),
            [.apns: [#""target-content-id":"apnstargetContent""#]]
        ),
        MessageSample(
            "apns.filterCriteria",
            .string("apnsfilterCriteria"),
            [.apns: [#""filter-criteria":"apnsfilterCriteria""#]]
        ),
        MessageSample("apns.priority", .integer(5), [.apns: ["apns-priority: 5"]]),
        MessageSample("apns.ttl", .integer(6000), [.apns: ["apns-expiration: 6000"]]),
        MessageSample("apns.collapse", .string("apnscollapse"), [.apns: ["apns-collapse-id: apnscollapse"]]),
    ]

    private static let ofFCM: [MessageSample] = [
        MessageSample("fcm.channel", .string("fcmchannel"), [.fcm: [#""channel_id":"fcmchannel""#]]),
        MessageSample("fcm.icon", .string("fcmicon"), [.fcm: [#""icon":"fcmicon""#]]),
        MessageSample("fcm.color", .string("#1a73e8"), [.fcm: [##""color":"#1a73e8""##]]),
        MessageSample("fcm.tag", .string("fcmtag"), [.fcm: [#""tag":"fcmtag""#]]),
        MessageSample("fcm.clickAction", .string("fcmclickAction"), [.fcm: [#""click_action":"fcmclickAction""#]]),
        MessageSample("fcm.visibility", .string("secret"), [.fcm: [#""visibility":"SECRET""#]]),
        MessageSample(
            "fcm.analyticsLabel",
            .string("fcmanalyticsLabel"),
            [.fcm: [#""fcm_options":{"analytics_label":"fcmanalyticsLabel"}"#]]
        ),
        MessageSample("fcm.directBoot", .bool(true), [.fcm: [#""android":{"direct_boot_ok":true}"#]]),
        MessageSample("fcm.priority", .string("high"), [.fcm: [#""android":{"priority":"HIGH"}"#]]),
        MessageSample("fcm.ttl", .integer(6100), [.fcm: [#""android":{"ttl":"6100s"}"#]]),
        MessageSample(
            "fcm.collapse",
            .string("fcmcollapse"),
            [.fcm: [#""android":{"collapse_key":"fcmcollapse"}"#]]
        ),
    ]

    private static let ofWNS: [MessageSample] = [
        MessageSample("wns.scenario", .string("urgent"), [.wns: [#"<toast scenario="urgent">"#]]),
        MessageSample(
            "wns.sound",
            .string("ms-winsoundevent:Notification.Mail"),
            [.wns: [#"<audio src="ms-winsoundevent:Notification.Mail"/>"#]]
        ),
        MessageSample("wns.silent", .bool(true), [.wns: [#"<audio silent="true"/>"#]]),
        MessageSample(
            "wns.tile",
            .bool(true),
            [.wns: ["x-wns-type: wns/tile", #"<tile><visual><binding template="TileMedium"><text>B</text></binding>"#]]
        ),
        MessageSample(
            "wns.badge",
            .string("newMessage"),
            [.wns: ["x-wns-type: wns/badge", #"<badge value="newMessage"/>"#]]
        ),
        MessageSample("wns.raw", .string("wnsraw"), [.wns: ["x-wns-type: wns/raw", "\nwnsraw"]]),
        MessageSample("wns.tag", .string("wnstag"), needs: ["wns.tile"], [.wns: ["x-wns-tag: wnstag"]]),
        MessageSample("wns.priority", .integer(2), [.wns: ["x-wns-priority: 2"]]),
        MessageSample("wns.ttl", .integer(6200), [.wns: ["x-wns-ttl: 6200", "x-wns-cache-policy: cache"]]),
    ]

    private static let ofWeb: [MessageSample] = [
        MessageSample("web.icon", .string("https://a.test/icon.png"), [.web: [#""icon":"https://a.test/icon.png""#]]),
        MessageSample(
            "web.badge",
            .string("https://a.test/badge.png"),
            [.web: [#""badge":"https://a.test/badge.png""#]]
        ),
        MessageSample("web.tag", .string("webtag"), [.web: [#""tag":"webtag""#]]),
        MessageSample("web.renotify", .bool(true), needs: ["web.tag"], [.web: [#""renotify":true"#]]),
        MessageSample("web.requireInteraction", .bool(true), [.web: [#""requireInteraction":true"#]]),
        MessageSample("web.silent", .bool(true), [.web: [#""silent":true"#]]),
        MessageSample("web.urgency", .string("very-low"), [.web: ["urgency: very-low"]]),
        MessageSample("web.ttl", .integer(6300), [.web: ["ttl: 6300"]]),
        MessageSample("web.collapse", .string("webcollapse"), [.web: ["topic: JrzlmHlBVH4FKlmgwFa-Jcqnyqq40ld4"]]),
    ]
}
