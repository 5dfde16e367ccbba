/// A key of the configuration: its allowed values and its default.
package struct ConfigurationKey: Sendable, Equatable {
    /// The kind of a value.
    package enum Kind: Sendable, Equatable {
        case text
        case choice([String])
        case integer(ClosedRange<Int>)
        /// A duration in seconds, whole or with a fraction.
        case seconds(ClosedRange<Double>)
    }

    /// The value of a key that is not given.
    package enum Default: Sendable, Equatable {
        case text(String)
        case integer(Int)
        case seconds(Double)
    }

    /// Its sections and its name, separated by dots, such as `api.port`.
    package let name: String
    package let kind: Kind
    /// What the number counts; nil where there is nothing to count.
    package let unit: String?
    package let defaultValue: Default
    /// One line for whoever sets it.
    package let meaning: String
    /// Whether the value may hold a password, and so is never shown.
    package let isSecret: Bool

    private init(
        _ name: String,
        _ kind: Kind,
        unit: String? = nil,
        default defaultValue: Default,
        isSecret: Bool = false,
        _ meaning: String
    ) {
        self.name = name
        self.kind = kind
        self.unit = unit
        self.defaultValue = defaultValue
        self.isSecret = isSecret
        self.meaning = meaning
    }

    /// The environment variable that overrides it, such as `PUSHLINE_API_PORT`.
    package var environmentVariable: String {
        "PUSHLINE_" + self.name.uppercased().replacing(".", with: "_")
    }

    static func text(_ name: String, default value: String = "", isSecret: Bool = false, _ meaning: String) -> Self {
        Self(name, .text, default: .text(value), isSecret: isSecret, meaning)
    }

    static func choice(_ name: String, of choices: [String], default value: String, _ meaning: String) -> Self {
        Self(name, .choice(choices), default: .text(value), meaning)
    }

    static func count(
        _ name: String,
        in range: ClosedRange<Int>,
        unit: String? = nil,
        default value: Int,
        _ meaning: String
    ) -> Self {
        Self(name, .integer(range), unit: unit, default: .integer(value), meaning)
    }

    /// At least a day: nothing goes while its idempotency key holds.
    static func days(_ name: String, default value: Int, _ meaning: String) -> Self {
        Self(name, .integer(1...3650), unit: "days", default: .integer(value), meaning)
    }

    static func bytes(_ name: String, in range: ClosedRange<Int>, default value: Int, _ meaning: String) -> Self {
        Self(name, .integer(range), unit: "bytes", default: .integer(value), meaning)
    }

    static func port(_ name: String, default value: Int, _ meaning: String) -> Self {
        Self(name, .integer(0...65535), default: .integer(value), meaning)
    }

    static func seconds(_ name: String, in range: ClosedRange<Double>, default value: Double, _ meaning: String) -> Self
    {
        Self(name, .seconds(range), unit: "seconds", default: .seconds(value), meaning)
    }
}
