import Foundation
import PushModel

/// What the values of a key are, and how they are written.
package struct SettingKind<Value: Sendable>: Sendable {
    /// Completes "must be …".
    let expectation: String
    var isPath = false
    /// - Returns: nil for what is not as ``expectation`` says.
    /// - Throws: `InvalidValue` where there is more to say.
    let parse: @Sendable (SettingScalar) throws(InvalidValue) -> Value?
    let text: @Sendable (Value) -> String
}

extension SettingKind where Value == String {
    package static var text: Self { Self(expectation: "text", parse: { $0.text }, text: { SettingText.quoted($0) }) }

    /// A file that is always there: relative to the configuration's folder, or, in a variable, to the current one.
    package static var path: Self {
        Self(expectation: "the name of a file", isPath: true, parse: { $0.text.isEmpty ? nil : $0.text }, text: { $0 })
    }
}

extension SettingKind where Value == String? {
    /// As `path`; empty = none.
    package static var path: Self {
        Self(
            expectation: "a path",
            isPath: true,
            parse: { .some($0.text.isEmpty ? nil : $0.text) },
            text: { SettingText.quoted($0 ?? "") }
        )
    }
}

extension SettingKind where Value == Int {
    package static func integer(_ range: ClosedRange<Int>) -> Self {
        Self(
            expectation: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            parse: { $0.isQuoted ? nil : Int($0.text).flatMap { range.contains($0) ? $0 : nil } },
            text: { "\($0)" }
        )
    }

    /// 0 = any free one.
    package static var port: Self { .integer(0...65535) }
}

extension SettingKind where Value == Bool {
    package static var flag: Self {
        Self(
            expectation: "true or false",
            parse: { scalar in
                switch scalar.text.lowercased() {
                case _ where scalar.isQuoted: nil
                case "true", "yes", "on": true
                case "false", "no", "off": false
                default: nil
                }
            },
            text: { "\($0)" }
        )
    }
}

extension SettingKind where Value == Duration {
    /// Seconds, whole or with a fraction.
    package static func seconds(_ range: ClosedRange<Double>) -> Self {
        Self(
            expectation: "a number of seconds from \(range.lowerBound.formatted()) to \(range.upperBound.formatted())",
            parse: { scalar in
                guard !scalar.isQuoted, let number = Double(scalar.text), range.contains(number) else { return nil }
                return .seconds(number)
            },
            text: { duration in
                let seconds = duration.inSeconds
                return seconds == seconds.rounded() ? "\(Int(seconds))" : "\(seconds)"
            }
        )
    }

    /// Whole days, one at least: nothing goes while its idempotency key holds.
    package static var days: Self {
        let days = 1...3650
        return Self(
            expectation: "a whole number from \(days.lowerBound) to \(days.upperBound)",
            parse: { scalar in
                guard !scalar.isQuoted, let number = Int(scalar.text), days.contains(number) else { return nil }
                return .seconds(number * 86_400)
            },
            text: { "\(Int($0.inSeconds / 86_400))" }
        )
    }
}

extension SettingKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the words of a type.
    package static var choice: Self {
        Self(
            expectation: "one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))",
            parse: { Value(rawValue: $0.text) },
            text: { $0.rawValue }
        )
    }
}

/// How values stand in a YAML file.
enum SettingText {
    /// A text in quotes where it is empty or would be read as something else.
    static func quoted(_ text: String) -> String {
        let isPlain =
            text.allSatisfy { $0.isLetter || $0.isNumber || "._/-".contains($0) } && text.first?.isLetter == true
            || text.split(separator: ".").count == 4 && text.allSatisfy { $0.isNumber || $0 == "." }
        return isPlain ? text : "\"\(text)\""
    }
}
