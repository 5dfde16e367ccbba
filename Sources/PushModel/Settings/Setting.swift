/// A key of a file: its default, what it may be, and what it means.
///
/// One declaration is all there is of a key. Its name is the property's, in snake case; the names around it are those of the sections:
/// `api.body_size`. From the declaration come reading, refusals, environment variables, the files in `Config` and the documents' tables.
@propertyWrapper
package struct Setting<Value: Sendable>: Sendable {
    /// Holds the value until another is set; only ``SettingsSection/take(_:besides:)`` changes it, in a section that nobody else has yet.
    private final class Box: @unchecked Sendable {
        var value: Value
        let declaration: Declaration

        init(_ value: Value, _ declaration: Declaration) {
            self.value = value
            self.declaration = declaration
        }
    }

    private final class Declaration: Sendable {
        let kind: SettingKind<Value>
        let words: SettingWords

        init(_ kind: SettingKind<Value>, _ words: SettingWords) {
            self.kind = kind
            self.words = words
        }
    }

    /// One reference, because settings stand in values that are copied for each request.
    private var box: Box

    /// - Parameters:
    ///   - wrappedValue: The default.
    ///   - kind: What it may be.
    ///   - help: What it means.
    ///   - name: The key's name; nil = the property's.
    ///   - example: What the example says, as a comment, of a key that has no default.
    ///   - isUsual: Whether the example says it without a comment.
    ///   - variable: A variable that others have given a meaning, and that counts behind our own and the file.
    package init(
        wrappedValue: Value,
        _ kind: SettingKind<Value>,
        _ help: String,
        named name: String? = nil,
        example: String? = nil,
        isUsual: Bool = false,
        variable: String? = nil
    ) {
        let words = SettingWords(
            help: variable.map { "\(help); also \($0)" } ?? help,
            name: name,
            example: example,
            isUsual: isUsual,
            variable: variable
        )
        self.box = Box(wrappedValue, Declaration(kind, words))
    }

    package var wrappedValue: Value {
        get { self.box.value }
        set { self.box = Box(newValue, self.box.declaration) }
    }
}

extension Setting where Value == String {
    /// A key that must be there.
    ///
    /// - Parameters:
    ///   - kind: What it may be.
    ///   - help: What it means.
    ///   - name: The key's name; nil = the property's.
    ///   - example: What the example says.
    package init(required kind: SettingKind<String>, _ help: String, named name: String? = nil, example: String) {
        let words = SettingWords(help: help, name: name, example: example, isUsual: true, isRequired: true)
        self.box = Box("", Declaration(kind, words))
    }
}

extension Setting: Equatable where Value: Equatable {
    package static func == (left: Setting, right: Setting) -> Bool { left.wrappedValue == right.wrappedValue }
}

/// What is said of a key.
package struct SettingWords: Sendable {
    package let help: String
    package let name: String?
    package let example: String?
    package let isUsual: Bool
    package var isRequired = false
    /// A variable that others have given a meaning.
    package var variable: String?
}

/// What readers and writers of files need of a key, whatever its type.
package protocol AnySetting: Sendable {
    var words: SettingWords { get }
    /// Completes "must be …".
    var expectation: String { get }
    /// Whether its value is a path, which a file's folder completes.
    var isPath: Bool { get }
    /// The value as a file has it; nil = there is none.
    var written: JSONValue? { get }
    /// The sections that the value has.
    var sections: [SettingPart] { get }
    /// The section that a value would have.
    var outline: SettingPart? { get }

    /// Takes a value in place.
    ///
    /// - Throws: ``SettingFault`` where it is not of the kind.
    func take(_ node: SettingNode) throws(SettingFault)
}

extension Setting: AnySetting {
    package var words: SettingWords { self.box.declaration.words }
    package var expectation: String { self.box.declaration.kind.expectation }
    package var isPath: Bool { self.box.declaration.kind.isPath }
    package var written: JSONValue? { self.box.declaration.kind.written(self.box.value) }
    package var sections: [SettingPart] { self.box.declaration.kind.sections(self.box.value) }
    package var outline: SettingPart? { self.box.declaration.kind.outline() }

    package func take(_ node: SettingNode) throws(SettingFault) {
        let kind = self.box.declaration.kind
        guard let value = try kind.read(node) else {
            throw SettingFault("must be \(kind.expectation)", at: node.place)
        }
        self.box.value = value
    }
}
