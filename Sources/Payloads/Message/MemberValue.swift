import PushModel

/// The values that a member of a message may have.
package struct MemberValue: Sendable {
    /// Its schema in the API's description, in YAML on one line; it allows null, which is not a value.
    package let schema: String
    /// What a fault says: `must be …`.
    let words: String
    /// The value as it is kept; nil = it does not fit.
    let read: @Sendable (JSONValue) -> JSONValue?

    /// A text of 1 to so many characters.
    static func text(_ most: Int) -> MemberValue {
        MemberValue(
            schema: #"{type: [string, "null"], minLength: 1, maxLength: \#(most)}"#,
            words: "must be a string of 1 to \(most) characters",
            read: { Self.text($0) { (1...most).contains($0.unicodeScalars.count) } }
        )
    }

    /// A text of visible ASCII characters, with spaces within at most.
    static func header(_ most: Int) -> MemberValue {
        MemberValue(
            schema: #"{type: [string, "null"], minLength: 1, maxLength: \#(most), pattern: "^[!-~]([ -~]*[!-~])?$"}"#,
            words: "must be a string of 1 to \(most) ASCII characters, without a space at either end",
            read: { Self.text($0) { $0.utf8.count <= most && NativePayload.Header("x", $0).isSafe } }
        )
    }

    /// A text of some ASCII letters, digits and the characters named.
    static func word(_ most: Int, and others: String = "") -> MemberValue {
        MemberValue(
            schema: #"{type: [string, "null"], pattern: "^[A-Za-z0-9\#(others)]{1,\#(most)}$"}"#,
            words: "must be a string of 1 to \(most) ASCII letters, digits" + (others.isEmpty ? "" : " and \(others)"),
            read: {
                Self.text($0) { text in
                    (1...most).contains(text.utf8.count)
                        && text.utf8.allSatisfy { Self.isAlphanumeric($0) || others.utf8.contains($0) }
                }
            }
        )
    }

    /// An address that a device fetches.
    static let address = MemberValue(
        schema: #"{type: [string, "null"], maxLength: 2048, pattern: "^https?://[!-~]+$"}"#,
        words: "must be an http or https address of at most 2,048 visible ASCII characters",
        read: { Self.text($0, fits: Self.isAddress) }
    )

    /// An address that an app opens: that of a page, or one of its own.
    static let link = MemberValue(
        schema:
            #"{type: [string, "null"], maxLength: 2048, pattern: "^(?!(javascript|data|vbscript|file):)[a-z][a-z0-9+.-]*:[!-~]+$"}"#,
        words: "must be an address with a scheme in lower case (not javascript, data, vbscript or file), "
            + "of at most 2,048 visible ASCII characters",
        read: { value in
            Self.text(value) { text in
                guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
                let scheme = text.utf8[..<colon]
                return Self.isVisible(text)
                    && !["javascript", "data", "vbscript", "file"].contains(String(text[..<colon]))
                    && text.utf8.index(after: colon) != text.utf8.endIndex
                    && scheme.first.map(Self.isLower) == true
                    && scheme.allSatisfy { Self.isLower($0) || Self.isDigit($0) || "+.-".utf8.contains($0) }
            }
        }
    )

    /// `#rrggbb`.
    static let colour = MemberValue(
        schema: ##"{type: [string, "null"], pattern: "^#[0-9A-Fa-f]{6}$"}"##,
        words: "must be a colour as in #1a73e8",
        read: {
            Self.text($0) {
                $0.utf8.count == 7 && $0.hasPrefix("#") && $0.utf8.dropFirst().allSatisfy(Self.isHexadecimal)
            }
        }
    )

    /// A text and no other.
    static func oneOf(_ names: [String]) -> MemberValue {
        MemberValue(
            schema: "{enum: [\(names.joined(separator: ", ")), null]}",
            words: "must be one of \(names.joined(separator: ", "))",
            read: { Self.text($0) { names.contains($0) } }
        )
    }

    static let flag = MemberValue(
        schema: #"{type: [boolean, "null"]}"#,
        words: InvalidValue.mustBeBool,
        read: { if case .bool = $0 { $0 } else { nil } }
    )

    /// A whole number.
    static func whole(_ range: ClosedRange<Int>) -> MemberValue {
        MemberValue(
            schema: #"{type: [integer, "null"], minimum: \#(range.lowerBound), maximum: \#(range.upperBound)}"#,
            words: InvalidValue.mustBeWhole(range),
            read: { Self.whole($0, in: range) }
        )
    }

    /// A whole number of some.
    static func whole(oneOf numbers: [Int]) -> MemberValue {
        let names = numbers.map(String.init).joined(separator: ", ")
        return MemberValue(
            schema: "{enum: [\(names), null]}",
            words: "must be one of the numbers \(names)",
            read: { value in numbers.lazy.compactMap { Self.whole(value, in: $0...$0) }.first }
        )
    }

    /// A number from 0 to 1.
    static let fraction = MemberValue(
        schema: #"{type: [number, "null"], minimum: 0, maximum: 1}"#,
        words: "must be a number from 0 to 1",
        read: { value in
            guard case .number(let text) = value, let number = Double(text), (0...1).contains(number) else {
                return nil
            }
            return .number(String(number))
        }
    )

    /// Texts that an app puts into another.
    static let arguments = MemberValue(
        schema: #"{type: [array, "null"], minItems: 1, maxItems: 20, items: {type: string, maxLength: 500}}"#,
        words: "must be an array of 1 to 20 strings of at most 500 characters",
        read: { value in
            guard case .array(let items) = value, (1...20).contains(items.count) else { return nil }
            return items.allSatisfy { Self.text($0) { $0.unicodeScalars.count <= 500 } != nil } ? value : nil
        }
    )

    /// A number, or the name of a picture, that WNS shows on an app's tile.
    static let windowsBadge: MemberValue = {
        let glyphs = [
            "none", "activity", "alarm", "alert", "attention", "available", "away", "busy", "error", "newMessage",
            "paused", "playing",
            "unavailable",
        ]
        return MemberValue(
            schema:
                #"{anyOf: [{type: integer, minimum: 0, maximum: 99}, {enum: [\#(glyphs.joined(separator: ", ")), null]}]}"#,
            words: "must be a whole number from 0 to 99, or one of \(glyphs.joined(separator: ", "))",
            read: { Self.whole($0, in: 0...99) ?? Self.text($0) { glyphs.contains($0) } }
        )
    }()

    /// One of Windows' sounds, or one in the app's package.
    static let windowsSound = MemberValue(
        schema: #"{type: [string, "null"], maxLength: 200, pattern: "^(ms-winsoundevent|ms-appx):[!-~]+$"}"#,
        words:
            "must be an address that begins with ms-winsoundevent: or ms-appx:, as ms-winsoundevent:Notification.Mail, "
            + "of at most 200 visible ASCII characters",
        read: { value in
            Self.text(value) { text in
                text.utf8.count <= 200 && Self.isVisible(text)
                    && ["ms-winsoundevent:", "ms-appx:"].contains { text.hasPrefix($0) && text != $0 }
            }
        }
    )

    // MARK: Parts

    private static func whole(_ value: JSONValue, in range: ClosedRange<Int>) -> JSONValue? {
        guard case .number(let text) = value,
            // 5.0 is a whole number too, in JSON.
            let number = Int(text) ?? Double(text).flatMap(Int.init(exactly:)), range.contains(number)
        else { return nil }
        return .integer(number)
    }

    /// The value, if it is a text that fits.
    static func text(_ value: JSONValue, fits: (String) -> Bool) -> JSONValue? {
        if case .string(let text) = value, fits(text) { value } else { nil }
    }

    static func isAddress(_ text: String) -> Bool {
        guard let rest = ["https://", "http://"].first(where: { text.hasPrefix($0) }) else { return false }
        return Self.isVisible(text) && text.utf8.count > rest.utf8.count
    }

    private static func isVisible(_ text: String) -> Bool {
        text.utf8.count <= 2048 && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        Self.isDigit(byte) || (Self.isLower(byte | 0x20) && byte >= 0x41)
    }
    private static func isHexadecimal(_ byte: UInt8) -> Bool { PercentCoding.digit(byte) != nil }
}
