import Foundation

extension SettingKind where Value == String {
    package static var text: Self {
        Self("text", written: Self.written, parse: { $0.isText && !$0.text.isEmpty ? $0.text : nil })
    }

    /// A file: relative to the folder of the file that names it, or, in a variable, to the current one.
    package static var path: Self {
        Self(
            "the name of a file",
            isPath: true,
            written: Self.written,
            parse: { $0.isText && !$0.text.isEmpty ? $0.path : nil }
        )
    }

    /// Credentials go there.
    package static var address: Self {
        Self("an https address", written: Self.written) { scalar in
            guard scalar.isText, let url = URL(string: scalar.text), url.scheme == "https",
                url.host(percentEncoded: false)?.isEmpty == false
            else { return nil }
            return scalar.text
        }
    }

    /// Of a server that may be beside this one: nothing secret goes there.
    package static var webAddress: Self {
        Self("an http or https address without user and query", written: Self.written) { scalar in
            guard scalar.isText, let url = URL(string: scalar.text), ["http", "https"].contains(url.scheme),
                url.host(percentEncoded: false)?.isEmpty == false, url.user(percentEncoded: false) == nil,
                url.query(percentEncoded: false) == nil, url.fragment(percentEncoded: false) == nil
            else { return nil }
            return scalar.text
        }
    }

    private static func written(_ text: String) -> JSONValue? { text.isEmpty ? nil : .string(text) }
}

extension SettingKind where Value == String? {
    package static var text: Self { SettingKind<String>.text.orNone }
    package static var path: Self { SettingKind<String>.path.orNone }
    package static var address: Self { SettingKind<String>.address.orNone }
    package static var webAddress: Self { SettingKind<String>.webAddress.orNone }
}

extension SettingKind where Value == Int {
    package static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(
            "a whole number from \(range.lowerBound) to \(range.upperBound)",
            written: { .integer($0) },
            parse: { $0.isQuoted ? nil : Int($0.text).flatMap { range.contains($0) ? $0 : nil } }
        )
    }

    /// 0 = any free one.
    package static var port: Self { .integer(0...65535) }
}

extension SettingKind where Value == Int? {
    package static func integer(_ range: ClosedRange<Int>) -> Self { SettingKind<Int>.integer(range).orNone }
}

extension SettingKind where Value == Double {
    package static func number(_ range: ClosedRange<Double>) -> Self {
        Self(
            "a number from \(range.lowerBound.formatted()) to \(range.upperBound.formatted())",
            written: { .number($0 == $0.rounded() ? "\(Int($0))" : "\($0)") },
            parse: { scalar in
                guard !scalar.isQuoted, let number = Double(scalar.text), range.contains(number) else { return nil }
                return number
            }
        )
    }
}

extension SettingKind where Value == Bool {
    package static var flag: Self {
        Self(
            "true or false",
            written: { .bool($0) },
            parse: { scalar in
                switch scalar.text.lowercased() {
                case _ where scalar.isQuoted: nil
                case "true", "yes", "on": true
                case "false", "no", "off": false
                default: nil
                }
            }
        )
    }
}

extension SettingKind where Value == Duration {
    /// Seconds, whole or with a fraction.
    package static func seconds(_ range: ClosedRange<Double>) -> Self {
        Self(
            "a number of seconds from \(range.lowerBound.formatted()) to \(range.upperBound.formatted())",
            written: { duration in
                let seconds = duration.inSeconds
                return .number(seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)")
            },
            parse: { scalar in
                guard !scalar.isQuoted, let number = Double(scalar.text), range.contains(number) else { return nil }
                return .seconds(number)
            }
        )
    }

    /// Whole days, one at least: nothing goes while its idempotency key holds.
    package static var days: Self {
        let days = SettingKind<Int>.integer(1...3650)
        return Self(
            days.expectation,
            written: { .integer(Int($0.inSeconds / 86_400)) },
            parse: { scalar in
                guard !scalar.isQuoted, let number = Int(scalar.text), (1...3650).contains(number) else { return nil }
                return .seconds(number * 86_400)
            }
        )
    }
}

extension SettingKind where Value == Timestamp? {
    /// The beginning of a day, in UTC.
    package static var day: Self {
        SettingKind<Timestamp>(
            "a day, such as 2027-01-31",
            written: { .string(String($0.iso8601.prefix(10))) },
            parse: { $0.text.utf8.count == 10 ? Timestamp(rfc3339: "\($0.text)T00:00:00Z") : nil }
        ).orNone
    }
}

extension SettingKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the words of a type.
    package static var choice: Self {
        Self(
            "one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))",
            written: { .string($0.rawValue) },
            parse: { Value(rawValue: $0.text) }
        )
    }
}

extension SettingKind where Value == TrustedProxies {
    package static var networks: Self {
        Self(
            "addresses and networks such as 10.0.0.0/8 or fd00::/8, separated by commas",
            written: { $0.isEmpty ? nil : .string($0.text) },
            parse: { scalar throws(InvalidValue) in try TrustedProxies(scalar.text) }
        )
    }
}

extension SettingKind where Value == WebOrigin {
    package static var origin: Self {
        Self(
            "an origin",
            written: { .string($0.text) },
            parse: { scalar throws(InvalidValue) in try WebOrigin(scalar.text) }
        )
    }
}
