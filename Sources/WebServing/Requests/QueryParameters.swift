import PushModel

/// The parameters of a query, read as a form: `+` is a space.
package struct QueryParameters: Sendable {
    package struct Parameter: Sendable {
        package let name: String
        /// The decoded value; nil for a malformed escape.
        package let value: String?
        /// As it came.
        package let raw: String
    }

    package let parameters: [Parameter]

    package init(_ query: String?) {
        self.parameters = PercentCoding.parts(of: (query ?? "")[...], at: "&", omittingEmpty: true).map { part in
            let halves = PercentCoding.parts(of: part, at: "=", maxSplits: 1)
            let raw = halves.count == 2 ? String(halves[1]) : ""
            return Parameter(
                name: PercentCoding.decode(halves[0], plusIsSpace: true) ?? String(halves[0]),
                value: PercentCoding.decode(raw[...], plusIsSpace: true),
                raw: raw
            )
        }
    }

    package var isEmpty: Bool { self.parameters.isEmpty }

    /// On a classic route: the first of that name in any letter case, with malformed escapes kept as text.
    package func tolerant(_ name: String) -> Parameter? {
        self.parameters.first { $0.name.lowercased() == name }
            .map { Parameter(name: $0.name, value: $0.value ?? $0.raw, raw: $0.raw) }
    }

    /// Refuses unknown, repeated and undecodable parameters on a modern route.
    package func strict(known: Set<String>) throws -> [String: String] {
        var values: [String: String] = [:]
        for parameter in self.parameters {
            guard known.contains(parameter.name) else {
                let all = known.isEmpty ? "this path takes none" : "known are \(known.sorted().joined(separator: ", "))"
                throw Problem.invalid(String(parameter.name.prefix(100)), "no such parameter; \(all)")
            }
            guard let value = parameter.value else {
                throw Problem.invalid(parameter.name, "is not percent-encoded UTF-8")
            }
            guard values.updateValue(value, forKey: parameter.name) == nil else {
                throw Problem.invalid(parameter.name, "is given twice")
            }
        }
        return values
    }
}
