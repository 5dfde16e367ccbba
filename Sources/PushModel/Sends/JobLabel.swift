/// A sender's own name for sends that belong together, such as a campaign.
package struct JobLabel: Hashable, Sendable {
    /// The most characters, as JSON Schema counts them: Unicode scalars.
    package static let maximumLength = 100

    package let text: String

    /// - Throws: ``InvalidValue`` unless it has 1 to ``maximumLength`` printable characters, and no space at either end.
    package init(_ text: String) throws(InvalidValue) {
        let scalars = text.unicodeScalars
        guard (1...Self.maximumLength).contains(scalars.count), scalars.allSatisfy(Self.isPrintable),
            scalars.first?.properties.isWhitespace == false, scalars.last?.properties.isWhitespace == false
        else {
            throw InvalidValue(
                "must have 1 to \(Self.maximumLength) printable characters, and no space at either end"
            )
        }
        self.text = text
    }

    /// Neither a control character nor one that changes how the text around it is shown.
    ///
    /// As ranges, for the OpenAPI document has the same as a pattern.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF: false
        default: true
        }
    }
}
