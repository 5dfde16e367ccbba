import PushModel

extension MessageMember {
    private static let ttl = MemberValue.whole(0...2_419_200)
    /// The name of a text in an app's resources.
    private static let resource = MemberPlace.own("ms-resource: in <text>")

    /// All of them: first those for every service, then each service's own.
    package static let all: [MessageMember] = [
        MessageMember(
            "subtitle",
            .text(1000),
            [.apns: .json("aps.alert.subtitle"), .wns: .own("<text>")]
        ),
        MessageMember(
            "image",
            .address,
            [
                // Its extension fetches it, which iOS starts for mutable content alone.
                .apns: .own("image, aps.mutable-content"), .fcm: .json("notification.image"), .wns: .own("<image>"),
                .web: .json("image"),
            ]
        ),
        MessageMember(
            "link",
            .link,
            shown: false,
            [.apns: .own("link"), .fcm: .own("data.link"), .wns: .own("link in launch"), .web: .own("data.link")]
        ),
        MessageMember(
            "badge",
            .whole(0...99_999),
            shown: false,
            [.apns: .json("aps.badge"), .wns: .own("<badge> of a silent message"), .web: .json("app_badge")]
        ),
        MessageMember("badgeAdd", .whole(1...99_999), [.fcm: .json("android.notification.notification_count")]),
        MessageMember("sound", .text(200), [.apns: .own("aps.sound"), .fcm: .json("android.notification.sound")]),
        MessageMember("category", .text(200), [.apns: .json("aps.category")]),
        MessageMember("actions", .actions, [.wns: .own("<action>"), .web: .json("actions", MemberValue.webActions)]),
        MessageMember("thread", .text(200), [.apns: .json("aps.thread-id")]),
        MessageMember(
            "interruptionLevel",
            .oneOf(["passive", "active", "time-sensitive"]),
            [.apns: .json("aps.interruption-level")]
        ),
        MessageMember("relevance", .fraction, [.apns: .json("aps.relevance-score")]),
        MessageMember("contentAvailable", .flag, shown: false, [.apns: .one("aps.content-available")]),
        MessageMember("mutableContent", .flag, [.apns: .one("aps.mutable-content")]),
        MessageMember(
            "titleLocKey",
            .text(200),
            [
                .apns: .json("aps.alert.title-loc-key"), .fcm: .json("android.notification.title_loc_key"),
                .wns: Self.resource,
            ]
        ),
        MessageMember(
            "titleLocArgs",
            .arguments,
            [.apns: .json("aps.alert.title-loc-args"), .fcm: .json("android.notification.title_loc_args")]
        ),
        MessageMember(
            "subtitleLocKey",
            .text(200),
            [.apns: .json("aps.alert.subtitle-loc-key"), .wns: Self.resource]
        ),
        MessageMember("subtitleLocArgs", .arguments, [.apns: .json("aps.alert.subtitle-loc-args")]),
        MessageMember(
            "bodyLocKey",
            .text(200),
            [
                .apns: .json("aps.alert.loc-key"), .fcm: .json("android.notification.body_loc_key"),
                .wns: Self.resource,
            ]
        ),
        MessageMember(
            "bodyLocArgs",
            .arguments,
            [.apns: .json("aps.alert.loc-args"), .fcm: .json("android.notification.body_loc_args")]
        ),
        MessageMember("apns.critical", .flag, [.apns: .own("aps.sound.critical, aps.interruption-level")]),
        MessageMember("apns.volume", .fraction, [.apns: .own("aps.sound.volume")]),
        MessageMember("apns.silent", .flag, [.apns: .own("no aps.sound")]),
        MessageMember("apns.targetContent", .text(200), [.apns: .json("aps.target-content-id")]),
        MessageMember("apns.filterCriteria", .text(200), [.apns: .json("aps.filter-criteria")]),
        MessageMember("apns.priority", .whole(oneOf: [10, 5, 1]), shown: false, [.apns: .header("apns-priority")]),
        MessageMember("apns.ttl", Self.ttl, shown: false, [.apns: .own("apns-expiration")]),
        MessageMember("apns.collapse", .header(64), shown: false, [.apns: .own("apns-collapse-id")]),
        MessageMember("fcm.channel", .text(200), [.fcm: .json("android.notification.channel_id")]),
        MessageMember("fcm.icon", .text(200), [.fcm: .json("android.notification.icon")]),
        MessageMember("fcm.color", .colour, [.fcm: .json("android.notification.color")]),
        MessageMember("fcm.tag", .text(200), [.fcm: .json("android.notification.tag")]),
        MessageMember("fcm.clickAction", .text(200), [.fcm: .json("android.notification.click_action")]),
        MessageMember(
            "fcm.visibility",
            .oneOf(["private", "public", "secret"]),
            [.fcm: .capitals("android.notification.visibility")]
        ),
        MessageMember(
            "fcm.analyticsLabel",
            .word(50, and: "_.~%-"),
            shown: false,
            [.fcm: .json("fcm_options.analytics_label")]
        ),
        MessageMember("fcm.directBoot", .flag, shown: false, [.fcm: .json("android.direct_boot_ok")]),
        MessageMember("fcm.priority", .oneOf(["high", "normal"]), shown: false, [.fcm: .capitals("android.priority")]),
        MessageMember("fcm.ttl", Self.ttl, shown: false, [.fcm: .own("android.ttl")]),
        MessageMember("fcm.collapse", .header(64), shown: false, [.fcm: .own("android.collapse_key")]),
        MessageMember(
            "wns.scenario",
            .oneOf(["reminder", "alarm", "incomingCall", "urgent"]),
            [.wns: .own("scenario of <toast>")]
        ),
        MessageMember("wns.sound", .windowsSound, [.wns: .own("<audio>")]),
        MessageMember("wns.silent", .flag, [.wns: .own("<audio>")]),
        MessageMember("wns.tile", .flag, [.wns: .own("<tile> in place of <toast>")]),
        MessageMember("wns.badge", .windowsBadge, shown: false, [.wns: .own("<badge> in place of <toast>")]),
        MessageMember("wns.raw", .text(5000), shown: false, [.wns: .own("raw text in place of <toast>")]),
        MessageMember("wns.tag", .word(16), shown: false, [.wns: .header("X-WNS-Tag")]),
        MessageMember("wns.priority", .whole(1...4), shown: false, [.wns: .header("X-WNS-PRIORITY")]),
        MessageMember("wns.ttl", Self.ttl, shown: false, [.wns: .own("X-WNS-TTL, X-WNS-Cache-Policy")]),
        MessageMember("web.icon", .address, [.web: .json("icon")]),
        MessageMember("web.badge", .address, [.web: .json("badge")]),
        MessageMember("web.tag", .text(200), [.web: .json("tag")]),
        MessageMember("web.renotify", .flag, [.web: .json("renotify")]),
        MessageMember("web.requireInteraction", .flag, [.web: .json("requireInteraction")]),
        MessageMember("web.silent", .flag, [.web: .json("silent")]),
        MessageMember(
            "web.urgency",
            .oneOf(["very-low", "low", "normal", "high"]),
            shown: false,
            [.web: .header("Urgency")]
        ),
        MessageMember("web.ttl", Self.ttl, shown: false, [.web: .own("TTL")]),
        MessageMember("web.collapse", .header(64), shown: false, [.web: .own("Topic")]),
    ]
}
