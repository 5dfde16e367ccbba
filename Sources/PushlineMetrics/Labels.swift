/// The labels of a series, in the order of their names.
package struct Labels: Hashable, Comparable, Sendable {
    /// The label value of the sum of all further values.
    package static let otherValue = "other"

    /// Each pair as it is written: `name="value"`.
    private let pairs: [String]
    private let names: [String]

    package init(_ dimensions: [(String, String)]) {
        let sorted = dimensions.map { (Self.identifier($0.0), $0.1) }.sorted { $0.0 < $1.0 }
        self.names = sorted.map(\.0)
        self.pairs = sorted.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }
    }

    /// The same labels, where each value is ``otherValue``.
    package var withoutValues: Labels { Labels(self.names.map { ($0, Self.otherValue) }) }

    /// As it stands behind a metric's name; empty without labels.
    package func text(and extra: String? = nil) -> String {
        let all = self.pairs + (extra.map { [$0] } ?? [])
        return all.isEmpty ? "" : "{\(all.joined(separator: ","))}"
    }

    /// Only letters, digits and underscores, and no digit first.
    package static func identifier(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            let isWord =
                scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_")
            if result.isEmpty, ("0"..."9").contains(scalar) { result.append("_") }
            result.unicodeScalars.append(isWord ? scalar : "_")
        }
        return result.isEmpty ? "_" : result
    }

    /// A label's value, with quotes, backslashes and line feeds escaped.
    private static func escaped(_ value: String) -> String {
        var result = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    package static func < (lhs: Labels, rhs: Labels) -> Bool { lhs.pairs.lexicographicallyPrecedes(rhs.pairs) }
}
