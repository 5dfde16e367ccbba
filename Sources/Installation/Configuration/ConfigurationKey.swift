/// A key of the configuration: its allowed values and its default.
package struct ConfigurationKey: Sendable, Equatable {
    /// The kind of a value.
    package enum Kind: Sendable, Equatable {
        case text
        case choice([String])
        case integer(ClosedRange<Int>)
        /// true or false.
        case flag
        /// A duration in seconds, whole or with a fraction.
        case seconds(ClosedRange<Double>)
    }

    /// The value of a key that is not given.
    package enum Default: Sendable, Equatable {
        case text(String)
        case integer(Int)
        case flag(Bool)
        case seconds(Double)
    }

    /// Its sections and its name, separated by dots, such as `api.port`.
    package let name: String
    package let kind: Kind
    package let defaultValue: Default

    private init(_ name: String, _ kind: Kind, default defaultValue: Default) {
        self.name = name
        self.kind = kind
        self.defaultValue = defaultValue
    }

    /// The environment variable that overrides it, such as `PUSHLINE_API_PORT`.
    package var environmentVariable: String {
        "PUSHLINE_" + self.name.uppercased().replacing(".", with: "_")
    }

    static func text(_ name: String, default value: String = "") -> Self {
        Self(name, .text, default: .text(value))
    }

    static func choice(_ name: String, of choices: [String], default value: String) -> Self {
        Self(name, .choice(choices), default: .text(value))
    }

    static func integer(_ name: String, in range: ClosedRange<Int>, default value: Int) -> Self {
        Self(name, .integer(range), default: .integer(value))
    }

    /// At least a day: nothing goes while its idempotency key holds.
    static func days(_ name: String, default value: Int) -> Self {
        Self(name, .integer(1...3650), default: .integer(value))
    }

    static func port(_ name: String, default value: Int) -> Self {
        Self(name, .integer(0...65535), default: .integer(value))
    }

    static func flag(_ name: String, default value: Bool) -> Self { Self(name, .flag, default: .flag(value)) }

    static func seconds(_ name: String, in range: ClosedRange<Double>, default value: Double) -> Self {
        Self(name, .seconds(range), default: .seconds(value))
    }
}
