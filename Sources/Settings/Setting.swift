import PushModel

/// A key of the configuration: its default, what it may be, and what it means.
///
/// One declaration is all there is of a key.
/// The key's name is the property's, in snake case; its section's is the section's: `api.body_size`. From the declaration come reading,
/// refusals, environment variables, `Config/pushline.yaml` and the documents' table.
@propertyWrapper
package struct Setting<Value: Sendable>: Sendable {
    /// Holds the value until another is set; only ``SettingsReader`` changes it, in a configuration that nobody else has yet.
    private final class Box: @unchecked Sendable {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    private var box: Box
    let kind: SettingKind<Value>
    let help: String

    package init(wrappedValue: Value, _ kind: SettingKind<Value>, _ help: String) {
        self.box = Box(wrappedValue)
        self.kind = kind
        self.help = help
    }

    package var wrappedValue: Value {
        get { self.box.value }
        set { self.box = Box(newValue) }
    }
}

/// What a reader and a writer of configurations need of a key, whatever its type.
protocol AnySetting {
    var help: String { get }
    /// Completes "must be …".
    var expectation: String { get }
    /// Whether its value is a path, which a file's folder completes.
    var isPath: Bool { get }
    /// The value as a YAML file has it.
    var text: String { get }

    /// Takes a value in place.
    ///
    /// - Parameter scalar: What stands in a file or a variable.
    /// - Returns: Whether it is as ``expectation`` says.
    /// - Throws: `InvalidValue` where there is more to say.
    func take(_ scalar: SettingScalar) throws(InvalidValue) -> Bool
}

extension Setting: AnySetting {
    var expectation: String { self.kind.expectation }
    var isPath: Bool { self.kind.isPath }
    var text: String { self.kind.text(self.box.value) }

    func take(_ scalar: SettingScalar) throws(InvalidValue) -> Bool {
        guard let value = try self.kind.parse(scalar) else { return false }
        self.box.value = value
        return true
    }
}

/// A value as it was written.
struct SettingScalar {
    let text: String
    /// Quoted in a YAML file.
    ///
    /// Quoted digits are text: `port: "8080"` is more likely a slip than meant.
    var isQuoted = false
}
