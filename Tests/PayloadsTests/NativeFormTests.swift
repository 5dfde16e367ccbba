import PushModel
import Testing

@testable import Payloads

/// The sender's own forms: what their service would refuse is refused first, and what is taken is sent as it was given.
@Suite struct NativeFormTests {
    private static let bundle = "com.example.app"

    private static var app: AppSpec {
        AppSpec {
            $0.apns = AppSpec.APNs {
                $0.authentication = .token(.init(keyFile: "/k", keyID: "K", teamID: "T"))
                $0.topic = Self.bundle
            }
        }
    }

    private static func apns(
        _ payload: String = #"{"aps":{"alert":"a"}}"#,
        _ headers: [NativeForm.Header] = []
    ) throws -> NativePayload {
        try NativeForm.apns.read(JSONReader.read(Array(payload.utf8)), headers: headers, of: Self.app)
    }

    private static func fcm(_ message: String) throws -> NativePayload {
        try NativeForm.fcm.read(JSONReader.read(Array(message.utf8)), of: Self.app)
    }

    private static func wns(_ body: String, _ headers: [NativeForm.Header] = []) throws -> NativePayload {
        try NativeForm.wns.read(.string(body), headers: headers, of: Self.app)
    }

    private static func content(_ form: NativePayload, _ message: Content.Message? = nil) -> Content {
        .native(.init(message: message, forms: [form]))
    }

    private static func fault(_ read: () throws -> NativePayload) -> InvalidValue? {
        do { _ = try read() } catch { return error as? InvalidValue }
        return nil
    }

    // MARK: APNs

    @Test(arguments: NativePayload.Kind.allOfAPNs)
    func everyPushTypeHasItsTopicAndPriority(kind: NativePayload.Kind) throws {
        let type = try #require(APNsPushType.of(kind))
        let form = try Self.apns(
            kind == .liveactivity
                ? #"{"aps":{"timestamp":1790000000,"event":"end"}}"# : type.needsAPS ? #"{"aps":{}}"# : #"{"id":7}"#,
            [("Apns-Push-Type", kind.name), ("apns-topic", Self.bundle + type.topicSuffix)]
        )
        #expect(form.kind == kind && form.headers.isEmpty)
        let headers = PushHeaders(form, priority: .normal, keepUntil: nil, collapse: nil).apns(topic: Self.bundle)
        #expect(headers.first { $0.name == "apns-push-type" }?.value == kind.name)
        #expect(headers.first { $0.name == "apns-topic" }?.value == Self.bundle + type.topicSuffix)
        #expect(headers.first { $0.name == "apns-priority" }?.value == (kind == .background ? "5" : "10"))
        let low = PushHeaders(form, priority: .low, keepUntil: nil, collapse: nil).apns(topic: Self.bundle)
        #expect(low.first { $0.name == "apns-priority" }?.value == "5")
    }

    /// Apple requires priority and end, and the bundle id is in the path: there is no topic.
    @Test func aBroadcastHasItsOwnHeaders() throws {
        let aps: [JSONValue.Member] = [
            .init("timestamp", .integer(1)), .init("event", .string("update")), .init("content-state", .object([])),
        ]
        let payload = try APNsLiveActivity.payload(aps: aps, priority: .normal, isBroadcast: true)
        #expect(payload.kind == .broadcast && payload.kind.maximumPayload == 5120)
        func headers(_ keepUntil: Timestamp?) -> [String: String] {
            let now = Timestamp(milliseconds: 1_000_000)
            let headers = PushHeaders(payload, priority: .normal, keepUntil: keepUntil, collapse: "c", now: now)
            return Dictionary(uniqueKeysWithValues: headers.apns(topic: Self.bundle).map { ($0.name, $0.value) })
        }
        let usual = ["apns-push-type": "liveactivity", "apns-priority": "5", "content-type": "application/json"]
        #expect(headers(nil) == usual.merging(["apns-expiration": "0"]) { $1 })
        #expect(headers(DeliverBatch.nowOrNever) == usual.merging(["apns-expiration": "0"]) { $1 })
        #expect(headers(Timestamp(milliseconds: 2_000_000)) == usual.merging(["apns-expiration": "2000"]) { $1 })
        let urgent = try APNsLiveActivity.payload(aps: aps, priority: .high, isBroadcast: true)
        #expect(urgent.header("apns-priority") == "10")
        let start =
            aps.map { $0.name == "event" ? .init("event", .string("start")) : $0 } + [
                .init("alert", .object([])), .init("attributes-type", .string("A")), .init("attributes", .object([])),
            ]
        let fault = #expect(throws: InvalidValue.self) {
            try APNsLiveActivity.payload(aps: start, priority: .normal, isBroadcast: true)
        }
        #expect(fault?.member == "event")
    }

    /// A sender's own form has the push types of Apple, and a broadcast is none.
    @Test func noFormIsABroadcast() {
        #expect(throws: InvalidValue.self) { try Self.apns(#"{"aps":{}}"#, [("apns-push-type", "broadcast")]) }
    }

    @Test func topicSuffixesAreApples() {
        let suffixes = Dictionary(uniqueKeysWithValues: APNsPushType.all.map { ($0.kind.name, $0.topicSuffix) })
        #expect(
            suffixes == [
                "alert": "", "background": "", "mdm": "", "voip": ".voip", "complication": ".complication",
                "fileprovider": ".pushkit.fileprovider", "location": ".location-query",
                "liveactivity": ".push-type.liveactivity", "pushtotalk": ".voip-ptt",
                "widgets": ".push-type.widgets", "controls": ".push-type.controls",
            ]
        )
    }

    @Test func headersOfTheFormGoBeforeTheSendsOptions() throws {
        let form = try Self.apns(
            #"{"aps":{}}"#,
            [("apns-priority", "1"), ("apns-collapse-id", "mine"), ("apns-expiration", "0")]
        )
        let later = Timestamp.now.advanced(by: .seconds(60))
        let headers = PushHeaders(form, priority: .high, keepUntil: later, collapse: "theirs").apns(topic: "t")
        let values = Dictionary(uniqueKeysWithValues: headers.map { ($0.name, $0.value) })
        #expect(
            values["apns-priority"] == "1" && values["apns-collapse-id"] == "mine" && values["apns-expiration"] == "0"
        )
        let plain = try PushHeaders(Self.apns(), priority: .high, keepUntil: later, collapse: "theirs").apns(topic: "t")
        #expect(plain.first { $0.name == "apns-collapse-id" }?.value == "theirs")
        #expect(plain.first { $0.name == "apns-expiration" }?.value == "\(later.seconds)")
    }

    @Test(
        arguments: [
            ("apns-push-type", "alarm", "headers.apns-push-type"), ("apns-priority", "7", "headers.apns-priority"),
            ("apns-topic", "com.example.other", "headers.apns-topic"),
            ("apns-topic", "com.example.app.voip", "headers.apns-topic"),
            ("apns-expiration", "1790000000000", "headers.apns-expiration"),
            ("apns-expiration", "-1", "headers.apns-expiration"), ("apns-expiration", "٣", "headers.apns-expiration"),
            ("apns-collapse-id", String(repeating: "x", count: 65), "headers.apns-collapse-id"),
            ("apns-collapse-id", "", "headers.apns-collapse-id"),
            ("apns-collapse-id", "a\r\napns-topic: other", "headers.apns-collapse-id"),
            ("apns-collapse-id", "é", "headers.apns-collapse-id"), ("apns-id", "x", "headers.apns-id"),
            ("Authorization", "bearer x", "headers.Authorization"), (":path", "/x", "headers.:path"),
            ("", "x", "headers."), ("host", "evil", "headers.host"),
            ("apns-topic\r\nx", "y", "headers.apns-topic\r\nx"),
        ]
    )
    func otherHeadersAreRefused(name: String, value: String, member: String) {
        #expect(Self.fault { try Self.apns(#"{"aps":{}}"#, [(name, value)]) }?.member == member)
    }

    @Test func aRepeatedHeaderIsRefused() {
        let fault = Self.fault { try Self.apns(#"{"aps":{}}"#, [("apns-priority", "5"), ("APNS-Priority", "10")]) }
        #expect(fault?.member == "headers.APNS-Priority")
    }

    @Test(arguments: [("background", "10"), ("liveactivity", "1"), ("location", "1")])
    func aPriorityThatItsTypeMayNotHaveIsRefused(type: String, priority: String) {
        let fault = Self.fault {
            try Self.apns(#"{"aps":{}}"#, [("apns-push-type", type), ("apns-priority", priority)])
        }
        #expect(fault?.member == "headers.apns-priority")
    }

    @Test(arguments: ["7", "[]", "\"x\"", "null"]) func aPayloadIsAnObject(payload: String) {
        #expect(Self.fault { try Self.apns(payload) }?.member == "payload")
    }

    @Test(arguments: ["{}", #"{"aps":"x"}"#, #"{"APS":{}}"#]) func anAlertNeedsItsDictionary(payload: String) {
        #expect(Self.fault { try Self.apns(payload) }?.member == "payload.aps")
    }

    @Test(
        arguments: [
            (#"{"aps":{"content-available":1}}"#, "background"),
            (#"{"aps":{"content-available":1,"x":2}}"#, "background"),
            (#"{"aps":{"content-available":1,"badge":0}}"#, "alert"),
            (#"{"aps":{"content-available":1,"sound":"s"}}"#, "alert"),
            (#"{"aps":{"content-available":1,"alert":"a"}}"#, "alert"), (#"{"aps":{"content-available":0}}"#, "alert"),
        ]
    )
    func aPayloadThatShowsNothingIsABackgroundPush(payload: String, type: String) throws {
        #expect(try Self.apns(payload).kind.name == type)
        #expect(try Self.apns(payload, [("apns-push-type", "alert")]).kind == .alert)
    }

    @Test(arguments: [#"{"aps":{"alert":"\ud83d"}}"#, #"{"aps":{},"\udc00":1}"#]) func halfACharacterIsRefused(
        payload: String
    ) {
        #expect(Self.fault { try Self.apns(payload) }?.member == "payload")
    }

    @Test func aRepeatedMemberIsRefused() {
        #expect(Self.fault { try Self.apns(#"{"aps":{},"aps":{}}"#) }?.member == "payload.aps")
    }

    @Test func thePayloadKeepsItsMembersInTheirOrder() throws {
        let text = #"{"z":[1.50,1e3,null,true],"aps":{"alert":{"body":"é \" \\ 😀"},"badge":0},"a":"\u2028"}"#
        let form = try Self.apns(text)
        #expect(String(decoding: form.body, as: UTF8.self) == text.replacing("\\u2028", with: "\u{2028}"))
        #expect(try PayloadFormatter.format(Self.content(form), for: .apns) == form)
    }

    @Test(arguments: [("alert", 4096), ("voip", 5120), ("liveactivity", 4096)])
    func theLimitIsThatOfThePushType(type: String, limit: Int) throws {
        func form(_ size: Int) throws -> NativePayload {
            // What an update of a Live Activity needs; the others may have it.
            let begin = #"{"aps":{"timestamp":1,"event":"update","content-state":{},"x":""#
            let end = #""}}"#
            let text = begin + String(repeating: "x", count: size - begin.utf8.count - end.utf8.count) + end
            return try Self.apns(text, [("apns-push-type", type)])
        }
        _ = try PayloadFormatter.format(Self.content(form(limit)), for: .apns)
        let large = Self.content(try form(limit + 3))
        let error = #expect(throws: InvalidValue.self) { try PayloadFormatter.format(large, for: .apns) }
        #expect(error?.member == "native.apns.payload")
        #expect(error?.reason.contains("3 more than the \(limit)") == true)
        let measured = try PayloadFormatter.measure(large, for: .apns)
        #expect(measured.size == limit + 3 && measured.limit == limit && measured.excess != nil)
    }

    // MARK: FCM

    @Test func theMessageGetsTheSendsOptionsWhereItHasNone() throws {
        let options = PayloadFormatter.Options(priority: .high, timeToLive: .seconds(60), collapse: "c")
        func formatted(_ message: String) throws -> String {
            let content = Self.content(try Self.fcm(message))
            return String(
                decoding: try PayloadFormatter.format(content, for: .fcm, options: options).body,
                as: UTF8.self
            )
        }
        #expect(
            try formatted(#"{"data":{"a":"b"},"apns":{"headers":{"apns-priority":"5"}}}"#)
                == #"{"data":{"a":"b"},"apns":{"headers":{"apns-priority":"5"}},"#
                + #""android":{"collapse_key":"c","priority":"HIGH","ttl":"60s"}}"#
        )
        #expect(
            try formatted(#"{"android":{"ttl":"5s","collapseKey":"own","notification":{"channel_id":"x"}},"data":{}}"#)
                == #"{"data":{},"android":{"ttl":"5s","collapseKey":"own","notification":{"channel_id":"x"},"priority":"HIGH"}}"#
        )
    }

    @Test(
        arguments: [
            (#"{}"#, "message"), (#"[]"#, "message"), (#"{"token":"x","data":{}}"#, "message.token"),
            (#"{"topic":"x"}"#, "message.topic"), (#"{"condition":"x"}"#, "message.condition"),
            (#"{"fid":"x"}"#, "message.fid"), (#"{"validate_only":true}"#, "message.validate_only"),
            (#"{"name":"x"}"#, "message.name"), (#"{"data":{"a":1}}"#, "message.data.a"),
            (#"{"data":{"from":"x"}}"#, "message.data.from"), (#"{"data":7}"#, "message.data"),
            (#"{"data":{"a":"1","a":"2"}}"#, "message.data.a"), (#"{"data":{},"data":{}}"#, "message.data"),
            (#"{"android":[]}"#, "message.android"), (#"{"android":{"ttl":"1s","ttl":"2s"}}"#, "message.android.ttl"),
            (#"{"android":{"data":{"gcm.x":"y"}}}"#, "message.android.data.gcm.x"),
            (#"{"notification":"x"}"#, "message.notification"),
            (#"{"apns":{"live_activity_token":"x"}}"#, "message.apns.live_activity_token"),
            (#"{"apns":{"liveActivityToken":"x"}}"#, "message.apns.liveActivityToken"),
            (#"{"notification":{"channel_id":"x"}}"#, "message.notification.channel_id"),
            (#"{"notification":{"Title":"x"}}"#, "message.notification.Title"),
            (#"{"notification":{"image":"x","titel":"x"}}"#, "message.notification.titel"),
            (#"{"android":{"collapse":"x"}}"#, "message.android.collapse"),
            (#"{"android":{"notification":{"channel":"x"}}}"#, "message.android.notification.channel"),
            (
                #"{"android":{"notification":{"channel_id":"x","channelId":"x"}}}"#,
                "message.android.notification.channelId"
            ),
            (
                #"{"android":{"notification":{"light_settings":{"color":{"hue":1}}}}}"#,
                "message.android.notification.light_settings.color.hue"
            ),
            (#"{"android":{"fcm_options":{"link":"x"}}}"#, "message.android.fcm_options.link"),
            (#"{"apns":{"aps":{}}}"#, "message.apns.aps"),
            (#"{"webpush":{"fcmOptions":{"image":"x"}}}"#, "message.webpush.fcm_options.image"),
            (#"{"fcmOptions":{"link":"x"}}"#, "message.fcm_options.link"),
            (#"{"android":{"ttl":"soon"}}"#, "message.android.ttl"),
            (#"{"android":{"ttl":60}}"#, "message.android.ttl"),
            (#"{"android":{"ttl":"-1s"}}"#, "message.android.ttl"),
            (#"{"android":{"ttl":"60"}}"#, "message.android.ttl"),
            (#"{"apns":{"headers":{"apns-priority":5}}}"#, "message.apns.headers.apns-priority"),
            (#"{"webpush":{"headers":{"TTL":60}}}"#, "message.webpush.headers.TTL"),
            (#"{"webpush":{"headers":[]}}"#, "message.webpush.headers"),
            (#"{"android":{"collapse_key":"a","collapseKey":"b"}}"#, "message.android.collapseKey"),
            (#"{"fcm_options":{},"fcmOptions":{}}"#, "message.fcmOptions"),
            (#"{"webpush":{"fcm_options":{},"fcmOptions":{}}}"#, "message.webpush.fcmOptions"),
            (
                #"{"android":{"notification":{"clickAction":"a","click_action":"b"}}}"#,
                "message.android.notification.click_action"
            ),
            (#"{"data":{"a":"\ud800"}}"#, "message"),
            (#"{"apns":{"payload":7}}"#, "message.apns.payload"),
            (#"{"apns":{"payload":{}}}"#, "message.apns.payload.aps"),
            (#"{"apns":{"payload":{"k":"v"}}}"#, "message.apns.payload.aps"),
            (#"{"apns":{"payload":{"aps":{}}}}"#, "message.apns.payload.aps"),
            (#"{"apns":{"payload":{"aps":null}}}"#, "message.apns.payload.aps"),
            (#"{"apns":{"payload":{"aps":[1]}}}"#, "message.apns.payload.aps"),
            (#"{"apns":{"payload":{"aps":{"badge":1},"aps":{"badge":1}}}}"#, "message.apns.payload.aps"),
            (#"{"apns":{"payload":{"aps":{"badge":1,"badge":2}}}}"#, "message.apns.payload.aps.badge"),
            (#"{"apns":{"payload":{"aps":{"alert":7}}}}"#, "message.apns.payload.aps.alert"),
            (#"{"apns":{"payload":{"aps":{"alert":["a"]}}}}"#, "message.apns.payload.aps.alert"),
            (#"{"apns":{"payload":{"aps":{"sound":true}}}}"#, "message.apns.payload.aps.sound"),
            (#"{"apns":{"payload":{"aps":{"badge":"7"}}}}"#, "message.apns.payload.aps.badge"),
            (#"{"apns":{"payload":{"aps":{"badge":true}}}}"#, "message.apns.payload.aps.badge"),
            (#"{"apns":{"payload":{"aps":{"content-available":"1"}}}}"#, "message.apns.payload.aps.content-available"),
            (#"{"apns":{"payload":{"aps":{"mutable-content":{}}}}}"#, "message.apns.payload.aps.mutable-content"),
            (#"{"apns":{"headers":{"apns-priority":"7"}}}"#, "message.apns.headers.apns-priority"),
            (#"{"apns":{"headers":{"Apns-Priority":"high"}}}"#, "message.apns.headers.Apns-Priority"),
            (#"{"apns":{"headers":{"apns-push-type":"loud"}}}"#, "message.apns.headers.apns-push-type"),
            (#"{"apns":{"headers":{"apns-expiration":"soon"}}}"#, "message.apns.headers.apns-expiration"),
            (
                #"{"apns":{"headers":{"apns-push-type":"background","apns-priority":"10"}}}"#,
                "message.apns.headers.apns-priority"
            ),
            (
                #"{"apns":{"payload":{"aps":{"content-available":1}},"headers":{"apns-priority":"10"}}}"#,
                "message.apns.headers.apns-priority"
            ),
            (
                #"{"data":{"a":"b"},"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"content-available":true}}}}"#,
                "message.apns.headers.apns-priority"
            ),
        ]
    )
    func otherMessagesAreRefused(message: String, member: String) {
        #expect(Self.fault { try Self.fcm(message) }?.member == member)
    }

    /// What names the place where FCM has such a member.
    @Test func whereAMemberWasMeantToBeIsSaid() {
        func words(_ message: String) -> String? { Self.fault { try Self.fcm(message) }?.reason }
        #expect(
            words(#"{"notification":{"channel_id":"x"}}"#)?.hasSuffix("there is android.notification.channel_id")
                == true
        )
        #expect(words(#"{"notification":{"titl":"x"}}"#)?.hasSuffix("did you mean title?") == true)
        #expect(words(#"{"notification":{"x":"x"}}"#)?.hasSuffix("known are title, body, image") == true)
    }

    /// All members that FCM knows, in both spellings, and nulls: as the simulator takes them, which has its own table.
    @Test func whatFCMKnowsIsTaken() throws {
        for message in [
            #"{"notification":{"title":"a","body":"b","image":null},"fcmOptions":{"analyticsLabel":"a"}}"#,
            #"{"android":{"collapseKey":"a","priority":"HIGH","ttl":"1s","restricted_package_name":"a","fcm_options":null}}"#,
            #"{"android":{"direct_boot_ok":true,"bandwidthConstrainedOk":true,"restricted_satellite_ok":false}}"#,
            #"{"android":{"notification":{"channelId":"a","vibrate_timings":["1s"],"eventTime":"2026-12-24T19:00:00Z","proxy":"DENY"}}}"#,
            #"{"android":{"notification":{"lightSettings":{"color":{"red":1},"light_on_duration":"1s"},"sticky":true}}}"#,
            #"{"apns":{"fcm_options":{"image":"a","analytics_label":"a"},"payload":{"aps":{"badge":1},"own":{"x":1}}}}"#,
            #"{"webpush":{"data":{"a":"b"},"notification":{"own":1},"fcm_options":{"link":"https://x/"}}}"#,
        ] {
            #expect(String(decoding: try Self.fcm(message).body, as: UTF8.self) == message)
        }
    }

    /// Messages that neither Google nor Apple is known to refuse.
    @Test(arguments: [
        #"{"apns":{"payload":null}}"#, #"{"apns":{"headers":{"apns-priority":"10","x":"y"}}}"#,
        #"{"apns":{"payload":{"aps":{"alert":{"title":"a"},"badge":0,"sound":{"critical":1},"category":7,"x":[]}}}}"#,
        #"{"apns":{"payload":{"aps":{"alert":null,"badge":null,"content-available":true,"mutable-content":1}}}}"#,
        #"{"apns":{"headers":{"apns-priority":"5","apns-push-type":"background"},"payload":{"aps":{"content-available":1}}}}"#,
        #"{"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"content-available":1,"badge":0}}}}"#,
        #"{"notification":{"body":"a"},"apns":{"headers":{"apns-priority":"10"},"payload":{"aps":{"content-available":1}}}}"#,
    ])
    func aPartForAppleIsTakenWhereNothingIsKnownAgainstIt(message: String) throws {
        let form = try Self.fcm(message)
        #expect(String(decoding: form.body, as: UTF8.self) == message)
    }

    @Test func dataAndNotificationCountTowardsTheLimit() throws {
        let text = String(repeating: "x", count: 4096)
        let content = Self.content(try Self.fcm(#"{"android":{"data":{"k":"\#(text)"}}}"#))
        let error = #expect(throws: InvalidValue.self) { try PayloadFormatter.format(content, for: .fcm) }
        #expect(error?.member == "native.fcm.message")
        let elsewhere = Self.content(try Self.fcm(#"{"data":{"k":"v"},"webpush":{"headers":{"x":"\#(text)"}}}"#))
        _ = try PayloadFormatter.format(elsewhere, for: .fcm)
    }

    @Test(arguments: [
        #"{"webpush":{"data":{"k":"$"}}}"#, #"{"webpush":{"notification":{"k":"$"}}}"#,
        #"{"apns":{"payload":{"aps":{"badge":1},"k":"$"}}}"#,
    ])
    func whatIsForOnePlatformHasTheSameLimit(message: String) throws {
        func content(_ size: Int) throws -> Content {
            Self.content(try Self.fcm(message.replacing("$", with: String(repeating: "x", count: size))))
        }
        _ = try PayloadFormatter.format(content(4000), for: .fcm)
        let large = try content(4096)
        let error = #expect(throws: InvalidValue.self) { try PayloadFormatter.format(large, for: .fcm) }
        #expect(error?.member == "native.fcm.message")
    }

    @Test func aWholeMessageHasALimit() throws {
        func message(_ size: Int) -> String {
            let frame = #"{"webpush":{"fcm_options":{"link":""}}}"#.utf8.count
            return #"{"webpush":{"fcm_options":{"link":"\#(String(repeating: "x", count: size - frame))"}}}"#
        }
        _ = try Self.fcm(message(16_384))
        let fault = Self.fault { try Self.fcm(message(16_385)) }
        #expect(fault?.member == "message" && fault?.reason.contains("1 more than the 16384") == true)
    }

    // MARK: WNS

    @Test(
        arguments: [
            (NativePayload.Kind.toast, "<toast launch=\"a\"><visual/></toast>"),
            (.tile, "<?xml version=\"1.0\"?>\n<tile/>"), (.tile, "<?xml version='1.0' encoding='Utf-8'?><tile/>"),
            (.badge, "<badge value=\"7\"/>"), (.raw, "{\"any\": \"text\"} <"), (.toast, "<toast>é &amp; 😀</toast>"),
        ]
    )
    func theBodyIsSentByteForByte(kind: NativePayload.Kind, body: String) throws {
        let form = try Self.wns(body, [("x-wns-type", "wns/\(kind.name)")])
        #expect(form.kind == kind)
        #expect(try PayloadFormatter.format(Self.content(form), for: .wns).body == Array(body.utf8))
        let headers = PushHeaders(form, priority: .normal, keepUntil: nil, collapse: nil).wns()
        #expect(headers.first?.value == (kind == .raw ? "application/octet-stream" : "text/xml"))
        #expect(headers.first { $0.name == "X-WNS-Type" }?.value == "wns/\(kind.name)")
    }

    @Test(
        arguments: [
            "", "text", "<toast>", "<toast></tile>", "<raw/>", "<toast/><toast/>", "<toast/>text", "<toast/><",
            "<toast a=\"1\" a=\"2\"/>", "<toast/>\u{0}", "<toast>\u{1}</toast>",
            "<toast>&x;</toast>",
            "<!DOCTYPE toast [<!ENTITY x \"y\">]><toast>&x;</toast>", "<toast a=1/>", "<toast xmlns=\"x\"/",
            "<?xml version=\"1.0\" encoding=\"utf-16\"?><toast>é</toast>",
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><toast>é</toast>",
            "<?xml version='1.0' encoding = 'UTF-7'?>+ADwAIQ-DOCTYPE toast [+ADwAIQ-ENTITY x 'y'+AD4]+AD4<toast>&x;</toast>",
            "\u{FEFF}<?xml version=\"1.0\"\tencoding=\"utf-7\"?><toast/>", "<toast>\u{FFFD}</toast>",
            String("<toast/>".flatMap { [$0, "\u{0}"] }),
            String(repeating: "<toast>", count: 600),
        ]
    )
    func whatIsNoToastIsRefused(body: String) {
        #expect(Self.fault { try Self.wns(body) }?.member == "body")
    }

    @Test(arguments: [NativePayload.Kind.toast, .tile, .badge]) func withoutATypeItIsWhatItsRootSays(
        kind: NativePayload.Kind
    ) throws {
        #expect(try Self.wns("<?xml version=\"1.0\"?><\(kind.name)/>").kind == kind)
        for other in NativePayload.Kind.allOfWNS where other != kind && other != .raw {
            let fault = Self.fault { try Self.wns("<\(kind.name)/>", [("X-WNS-Type", "wns/\(other.name)")]) }
            #expect(fault?.member == "body")
        }
    }

    @Test(
        arguments: [
            ("X-WNS-Type", "wns/alarm"), ("X-WNS-Cache-Policy", "always"), ("X-WNS-PRIORITY", "0"),
            ("X-WNS-Tag", "seventeen letters"), ("X-WNS-Tag", "a-b"), ("X-WNS-Group", "g"), ("X-WNS-TTL", "soon"),
            ("X-WNS-TTL", "-1"), ("X-WNS-RequestForStatus", "yes"), ("X-WNS-SuppressPopup", "true"),
            ("X-WNS-Match", "x"), ("Authorization", "Bearer x"), ("Content-Type", "text/html"),
            ("X-WNS-Tag", "a\r\nAuthorization: x"),
        ]
    )
    func otherWNSHeadersAreRefused(name: String, value: String) {
        let fault = Self.fault { try Self.wns("<toast/>", [(name, value)]) }
        #expect(fault?.member == "headers.\(name)")
    }

    @Test func wnsHeadersGoBeforeTheSendsOptions() throws {
        let form = try Self.wns("<toast/>", [("X-WNS-TTL", "9"), ("X-WNS-Tag", "t"), ("x-wns-priority", "4")])
        let later = Timestamp.now.advanced(by: .seconds(60))
        let headers = PushHeaders(form, priority: .high, keepUntil: later, collapse: nil).wns()
        let values = Dictionary(uniqueKeysWithValues: headers.map { ($0.name, $0.value) })
        #expect(values["X-WNS-TTL"] == "9" && values["X-WNS-Tag"] == "t" && values["X-WNS-PRIORITY"] == "4")
        #expect(values["X-WNS-Cache-Policy"] == "cache")
    }

    @Test(arguments: ["0", "00"]) func whatIsNowOrNeverIsNotCached(ttl: String) throws {
        let fault = Self.fault { try Self.wns("<toast/>", [("X-WNS-TTL", ttl), ("X-WNS-Cache-Policy", "cache")]) }
        #expect(fault?.member == "headers.X-WNS-Cache-Policy")
        _ = try Self.wns("<toast/>", [("X-WNS-TTL", ttl), ("X-WNS-Cache-Policy", "no-cache")])
        _ = try Self.wns("<tile/>", [("X-WNS-TTL", ttl), ("X-WNS-Type", "wns/tile")])
    }

    // MARK: Beside a message

    @Test func aFormWinsForItsService() throws {
        let form = try Self.apns(#"{"aps":{"badge":1}}"#)
        let content = Self.content(form, .init(body: "b"))
        #expect(try PayloadFormatter.format(content, for: .apns) == form)
        for pns in PushService.inService where pns != .apns {
            #expect(
                try PayloadFormatter.format(content, for: pns)
                    == PayloadFormatter.format(.message(.init(body: "b")), for: pns)
            )
            #expect(throws: InvalidValue.self) { try PayloadFormatter.format(Self.content(form), for: pns) }
        }
    }
}
