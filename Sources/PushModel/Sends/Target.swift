/// What a place of a send's list stands for.
package enum Target: Hashable, Sendable {
    /// A device, by its handle.
    case device(Handle)
    /// A call of a hub over a wire, for the registrations there that an expression selects.
    case call(TagExpression)
}

extension Target {
    // No handle has a space, so that none is read as a call.
    private static let everyone = "to all"
    private static let prefix = "to tags "
    fileprivate static let callBytes = Array("to ".utf8)

    /// As a row of a list and a delivery message have it, in the place of a handle.
    package var stored: String {
        switch self {
        case .device(let handle): handle.text
        case .call(let expression):
            expression == .everyone ? Self.everyone : Self.prefix + expression.description
        }
    }

    /// Reads ``stored``.
    ///
    /// - Throws: ``InvalidValue`` for a call whose expression cannot be read.
    package init(stored text: String) throws(InvalidValue) {
        if text == Self.everyone {
            self = .call(.everyone)
        } else if text.hasPrefix(Self.prefix) {
            // As a kept tag is read.
            self = .call(try TagExpression(stored: String(text.dropFirst(Self.prefix.count)), .exact))
        } else {
            self = .device(Handle(stored: text))
        }
    }
}

extension DeliverBatch.Devices {
    /// Whether a number stands for a call of a hub over a wire.
    package func isCall(at index: Int) -> Bool { self.handles[index].starts(with: Target.callBytes) }

    /// What a number stands for.
    ///
    /// - Throws: ``InvalidValue`` for a call whose expression cannot be read.
    package func target(at index: Int) throws(InvalidValue) -> Target {
        try Target(stored: self.handles.handle(at: index).text)
    }
}
