/// What the values of a key are, and how they are written.
package struct SettingKind<Value: Sendable>: Sendable {
    /// Completes "must be …".
    package let expectation: String
    /// Whether a value is a path, which a file's folder completes.
    var isPath = false
    /// - Returns: nil for what is not as ``expectation`` says.
    /// - Throws: ``SettingFault`` where there is more to say.
    let read: @Sendable (SettingNode) throws(SettingFault) -> Value?
    /// The value as a file has it; nil = there is none.
    let written: @Sendable (Value) -> JSONValue?
    /// The sections that a value has.
    var sections: @Sendable (Value) -> [SettingPart] = { _ in [] }
    /// The section that a value would have.
    var outline: @Sendable () -> SettingPart? = { nil }
}

extension SettingKind {
    /// A kind of single values.
    ///
    /// - Parameters:
    ///   - expectation: Completes "must be …".
    ///   - isPath: Whether a value is a path.
    ///   - written: The value as a file has it.
    ///   - parse: Reads it; nil for what is not as expected.
    package init(
        _ expectation: String,
        isPath: Bool = false,
        written: @escaping @Sendable (Value) -> JSONValue?,
        parse: @escaping @Sendable (SettingScalar) throws(InvalidValue) -> Value?
    ) {
        self.init(
            expectation: expectation,
            isPath: isPath,
            read: { node throws(SettingFault) in
                guard case .scalar(let scalar) = node.content else { return nil }
                do throws(InvalidValue) { return try parse(scalar) } catch {
                    throw SettingFault(error.reason, at: node.place)
                }
            },
            written: written
        )
    }

    /// The same kind without some values.
    ///
    /// - Parameter check: Throws for a value that is not taken.
    /// - Returns: The kind.
    package func checked(_ check: @escaping @Sendable (Value) throws(InvalidValue) -> Void) -> Self {
        let read = self.read
        return Self(
            expectation: self.expectation,
            isPath: self.isPath,
            read: { node throws(SettingFault) in
                guard let value = try read(node) else { return nil }
                do throws(InvalidValue) { try check(value) } catch { throw SettingFault(error.reason, at: node.place) }
                return value
            },
            written: self.written,
            sections: self.sections,
            outline: self.outline
        )
    }

    /// The same kind, and nothing at all.
    package var orNone: SettingKind<Value?> {
        let (read, written, sections) = (self.read, self.written, self.sections)
        return SettingKind<Value?>(
            expectation: self.expectation,
            isPath: self.isPath,
            read: { node throws(SettingFault) in
                if case .scalar(let scalar) = node.content, scalar.text.isEmpty { return .some(nil) }
                guard let value = try read(node) else { return nil }
                return .some(value)
            },
            written: { $0.flatMap(written) },
            sections: { $0.map(sections) ?? [] },
            outline: self.outline
        )
    }

    /// A list of values.
    package static func list<Element>(of element: SettingKind<Element>) -> Self where Value == [Element] {
        Self(
            expectation: "a list, such as [a, b]",
            read: { node throws(SettingFault) in
                guard case .list(let nodes) = node.content else { return nil }
                var values: [Element] = []
                for one in nodes {
                    var text = ""
                    if case .scalar(let scalar) = one.content { text = "\"\(scalar.text)\": " }
                    do throws(SettingFault) {
                        guard let value = try element.read(one) else {
                            throw SettingFault("must be \(element.expectation)", at: one.place)
                        }
                        values.append(value)
                    } catch {
                        throw SettingFault(text + error.reason, at: node.place)
                    }
                }
                return values
            },
            written: { .array($0.compactMap(element.written)) }
        )
    }
}

extension SettingKind where Value: SettingsSection {
    /// A section of keys.
    package static var section: Self {
        Self(
            expectation: "a section with keys of its own",
            read: { node throws(SettingFault) in
                let value = Value()
                try value.take(node)
                return value
            },
            written: { $0.written },
            sections: { [SettingPart($0)] },
            outline: { SettingPart(Value()) }
        )
    }
}

extension SettingKind {
    /// A section that may be left out.
    package static func sectionOrNone<Section: SettingsSection>() -> Self where Value == Section? {
        let section = SettingKind<Section>.section
        return Self(
            expectation: section.expectation,
            read: { node throws(SettingFault) in try section.read(node).map(Optional.some) },
            written: { $0.flatMap(section.written) },
            sections: { $0.map(section.sections) ?? [] },
            outline: section.outline
        )
    }
}
