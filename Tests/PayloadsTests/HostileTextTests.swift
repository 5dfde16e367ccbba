import Foundation
import FoundationXML
import Payloads
import PushModel
import Testing

/// Whatever text is sent: the payload parses, gives the text back, and holds no member but its own.
@Suite struct HostileTextTests {
    static let hostile = [
        "", "\"", "\\", "\"}]}", "\",\"aps\":{\"badge\":9},\"x\":\"", "]]>", "<![CDATA[", "&#x0;", "&amp;", "&", "<!--",
        "-->",
        "</text></binding><text>", "'", "\u{0}", "\u{1}\u{1F}\u{7F}\u{80}\u{9F}", "\r", "\r\n", "\n\r\t ",
        "  two  spaces  ",
        "\u{2028}\u{2029}", "\u{FEFF}bom", "\u{FFFE}\u{FFFF}\u{1FFFF}", "\u{FFFD}", "\u{202E}txt.exe", "مرحبا بالعالم",
        "👩‍👩‍👧‍👦🇩🇪", "e\u{301}\u{301}\u{301}", "\u{301}leading", "\u{200D}\u{200B}", "\u{10FFFF}\u{E000}", "%s%n${x}",
        "\\u0000", "\\\"", "?><!DOCTYPE x [<!ENTITY a \"b\">]>", String(repeating: "\u{1}\"&", count: 60),
    ]

    static func random(_ generator: inout some RandomNumberGenerator) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...40, using: &generator) {
            let range: ClosedRange<UInt32> =
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: 0...0x20
                case 1: 0x21...0x7F
                case 2: 0x80...0xFFFF
                default: 0x10000...0x10FFFF
                }
            let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator))
            // Foundation's JSON parser drops a byte order mark wherever it begins a piece, such as after an escape.
            if let scalar, scalar != "\u{FEFF}" { scalars.append(scalar) }
        }
        return String(scalars)
    }

    /// The fixed texts, and 400 of a generator whose seed the failing test prints.
    private func everyText(_ check: (String) throws -> Void) throws {
        for text in Self.hostile { try check(text) }
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix64(state: seed)
        for _ in 0..<400 {
            let text = Self.random(&generator)
            do { try check(text) } catch {
                Issue.record("seed \(seed): \(error)")
                throw error
            }
        }
    }

    private func json(_ bytes: [UInt8]) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
    }

    /// Equal scalar by scalar: Swift's own `==` takes canonically equivalent texts for the same.
    ///
    /// But for a byte order mark at the beginning, which Foundation's JSON parser swallows.
    private func expectSame(_ value: Any?, _ text: String, _ line: SourceLocation = #_sourceLocation) throws {
        let found = try #require(value as? String, sourceLocation: line)
        let same = found.unicodeScalars.drop { $0 == "\u{FEFF}" }.elementsEqual(
            text.unicodeScalars.drop { $0 == "\u{FEFF}" }
        )
        #expect(same, "\(found.debugDescription) is not \(text.debugDescription)", sourceLocation: line)
    }

    @Test func aByteOrderMarkIsKept() throws {
        let content = Content.message(.init(body: "\u{FEFF}b"))
        #expect(
            try PayloadFormatter.format(content, for: .apns).body
                == Array("{\"aps\":{\"alert\":\"\u{FEFF}b\",\"sound\":\"default\"}}".utf8)
        )
    }

    @Test func hostileTextIsEscapedForAPNs() throws {
        try self.everyText { text in
            let message = Content.Message(title: text, body: text, data: ["k\(text)": text])
            let payload = try self.json(PayloadFormatter.format(.message(message), for: .apns).body)
            #expect(Set(payload.allKeys.compactMap { $0 as? String }) == ["aps", "k\(text)"])
            let aps = try #require(payload["aps"] as? NSDictionary)
            #expect(Set(aps.allKeys.compactMap { $0 as? String }) == ["alert", "sound"])
            let alert = try #require(aps["alert"] as? NSDictionary)
            try self.expectSame(alert["title"], text)
            try self.expectSame(alert["body"], text)
            try self.expectSame(payload["k\(text)"], text)
        }
    }

    @Test func hostileTextIsEscapedForFCM() throws {
        try self.everyText { text in
            let message = Content.Message(title: text, body: text, data: ["k\(text)": text])
            let options = PayloadFormatter.Options(collapse: "c")
            let payload = try self.json(PayloadFormatter.format(.message(message), for: .fcm, options: options).body)
            #expect(Set(payload.allKeys.compactMap { $0 as? String }) == ["notification", "data", "android"])
            let shown = try #require(payload["notification"] as? NSDictionary)
            #expect(shown.count == 2)
            try self.expectSame(shown["title"], text)
            try self.expectSame(shown["body"], text)
            let data = try #require(payload["data"] as? NSDictionary)
            #expect(data.count == 1)
            try self.expectSame(data["k\(text)"], text)
        }
    }

    @Test func hostileTextIsEscapedInAWNSToast() throws {
        try self.everyText { text in
            let message = Content.Message(title: text, body: text, data: ["k": text])
            let payload = try PayloadFormatter.format(.message(message), for: .wns)
            let toast = try ToastReader.read(payload.body)
            #expect(toast.elements == ["toast", "visual", "binding", "text", "text"])
            #expect(toast.texts.count == 2)
            for found in toast.texts { try self.expectSame(found, Self.carriedByXML(text)) }
            // The data went through JSON, which escapes control characters, and then through an attribute.
            let launch = try self.json(Array(try #require(toast.launch).utf8))
            #expect(launch.count == 1)
            try self.expectSame(launch["k"], Self.carriedByXML(text, keepsControls: true))
        }
    }

    @Test func hostileTextIsEscapedInRawWNS() throws {
        try self.everyText { text in
            let payload = try self.json(PayloadFormatter.format(.message(.init(data: ["k": text])), for: .wns).body)
            #expect(payload.count == 1)
            try self.expectSame(payload["k"], text)
        }
    }

    @Test func hostileTextIsEscapedInClassicPayloads() throws {
        let sender = "a@b.c:d#e_f-g"
        try self.everyText { text in
            let content = Content.classic(sender: sender, text: text)
            let shown = "From a@b.c:d#e_f-g: \(text)"
            let apns = try self.json(PayloadFormatter.format(content, for: .apns).body)
            #expect(apns.count == 1)
            try self.expectSame((apns["aps"] as? NSDictionary)?["alert"], shown)
            let fcm = try self.json(PayloadFormatter.format(content, for: .fcm).body)
            #expect(fcm.count == 1)
            try self.expectSame((fcm["data"] as? NSDictionary)?["message"], shown)
            let toast = try ToastReader.read(PayloadFormatter.format(content, for: .wns).body)
            #expect(toast.elements == ["toast", "visual", "binding", "text"])
            try self.expectSame(toast.texts.first, Self.carriedByXML(shown))
        }
    }

    @Test func hostileTextIsEscapedInRichPayloads() throws {
        try self.everyText { text in
            let content = Content.rich(.init(id: 1, message: text, richType: text, isSecure: false))
            let payload = try self.json(PayloadFormatter.format(content, for: .apns).body)
            #expect(Set(payload.allKeys.compactMap { $0 as? String }) == ["aps", "richId", "richMessage", "richType"])
            try self.expectSame(payload["richMessage"], text)
            try self.expectSame(payload["richType"], text)
        }
    }

    @Test(arguments: PushService.inService)
    func veryLongTextIsRefused(pns: PushService) {
        let content = Content.message(.init(body: String(repeating: "\u{0}<\"👩‍👩‍👧‍👦", count: 5000)))
        #expect(throws: InvalidValue.self) { try PayloadFormatter.format(content, for: pns) }
    }

    /// What is left of a text in XML 1.0.
    private static func carriedByXML(_ text: String, keepsControls: Bool = false) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.value {
                    case 0xFFFE, 0xFFFF: "\u{FFFD}"
                    case 9, 10, 13: scalar
                    case 0..<0x20: keepsControls ? scalar : "\u{FFFD}"
                    default: scalar
                    }
                }
            )
        )
    }
}

/// A small generator that can be seeded, so that a failure can be seen again.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
