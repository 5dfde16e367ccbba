import PushModel
import Testing

@testable import Payloads

/// The push that WNS gets of a message: one of toast, tile, badge and raw.
@Suite struct WNSPushTests {
    private static func content(
        title: String? = nil,
        body: String? = nil,
        data: [String: String] = [:],
        _ members: [JSONValue.Member]
    ) -> Content {
        .message(.init(title: title, body: body, data: data, members: MessageMembers(members)))
    }

    private static func warnings(_ content: Content, _ services: PushService...) -> [String] {
        MessageMember.warnings(of: content, for: services).map(\.member)
    }

    @Test func aBadgeOfASilentMessageIsABadge() throws {
        let badge = JSONValue.Member("badge", .integer(7))
        let alone = Self.content([badge])
        let sent = try PayloadFormatter.format(alone, for: .wns)
        #expect(sent.kind == .badge && String(decoding: sent.body, as: UTF8.self) == #"<badge value="7"/>"#)
        #expect(Self.warnings(alone, .wns).isEmpty)
        for (other, kind) in [
            (Self.content(title: "T", [badge]), NativePayload.Kind.toast),
            (Self.content(data: ["k": "v"], [badge]), .raw),
            (Self.content([badge, .init("link", .string("shop://sale"))]), .raw),
        ] {
            #expect(try PayloadFormatter.format(other, for: .wns).kind == kind)
            #expect(Self.warnings(other, .wns) == ["badge"])
            #expect(Self.warnings(other, .wns, .apns).isEmpty)
        }
        let both = Self.content([badge, .init("wns.badge", .string("alert"))])
        let glyph = try PayloadFormatter.format(both, for: .wns)
        #expect(String(decoding: glyph.body, as: UTF8.self) == #"<badge value="alert"/>"#)
        #expect(Self.warnings(both, .wns) == ["badge"])
    }

    @Test(arguments: [
        ("wns.tile", JSONValue.bool(true), ["data"]), ("wns.badge", .integer(1), ["title", "body", "data"]),
        ("wns.raw", .string("x"), ["title", "body", "data"]), ("wns.silent", .bool(true), []),
    ])
    func textsAndDataThatAreNotInItAreAWarning(_ name: String, _ value: JSONValue, _ dropped: [String]) {
        let content = Self.content(title: "T", body: "B", data: ["k": "v"], [.init(name, value)])
        #expect(Self.warnings(content, .wns) == dropped)
        #expect(Self.warnings(content, .wns, .fcm).isEmpty)
    }

    @Test func aTextOfTheAppStandsWhereNoneIsGiven() throws {
        func texts(_ content: Content) throws -> [String] {
            let sent = String(decoding: try PayloadFormatter.format(content, for: .wns).body, as: UTF8.self)
            return sent.matches(of: /<text>([^<]*)<\/text>/).map { String($0.1) }
        }
        let keys = ["titleLocKey", "subtitleLocKey", "bodyLocKey"].map { JSONValue.Member($0, .string($0)) }
        let alone = Self.content(keys)
        let found = ["ms-resource:titleLocKey", "ms-resource:subtitleLocKey", "ms-resource:bodyLocKey"]
        #expect(try texts(alone) == found)
        #expect(Self.warnings(alone, .wns).isEmpty)
        let beside = Self.content(title: "T", keys)
        #expect(try texts(beside) == ["T"] + found.dropFirst())
        #expect(Self.warnings(beside, .wns) == ["titleLocKey"] && Self.warnings(beside, .wns, .apns).isEmpty)
        let tile = Self.content(keys + [.init("wns.tile", .bool(true))])
        #expect(try texts(tile) == found + found + found)
        let hostile = Self.content([.init("bodyLocKey", .string("a/<b&\"c"))])
        #expect(try texts(hostile) == ["ms-resource:a/&lt;b&amp;&quot;c"])
        let arguments = Self.content(keys + [.init("bodyLocArgs", .strings(["x"]))])
        #expect(Self.warnings(arguments, .wns) == ["bodyLocArgs"] && Self.warnings(arguments, .wns, .apns).isEmpty)
    }

    @Test func aSoundOfWindowsIsAText() throws {
        let content = Self.content(body: "B", [.init("wns.sound", .string("ms-appx:///a\"b&c.wav"))])
        let sent = String(decoding: try PayloadFormatter.format(content, for: .wns).body, as: UTF8.self)
        #expect(sent.hasSuffix(#"</visual><audio src="ms-appx:///a&quot;b&amp;c.wav"/></toast>"#), "\(sent)")
    }

    @Test func aSoundOfAppleIsDroppedWhereThereShallBeNone() {
        let content = Self.content(body: "B", [.init("sound", .string("s")), .init("apns.silent", .bool(true))])
        let warnings = MessageMember.warnings(of: content, for: [.apns])
        #expect(warnings.map(\.member) == ["sound"])
        #expect(warnings.first?.reason == "is dropped: apns.silent turns the sound off")
        #expect(Self.warnings(content, .apns, .fcm).isEmpty)
    }
}
