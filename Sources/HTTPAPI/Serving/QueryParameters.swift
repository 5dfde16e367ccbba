import PushModel

/// The parameters of a query, read as a form: `+` is a space.
struct QueryParameters: Sendable {
    struct Parameter: Sendable {
        let name: String
        /// Decoded; nil where an escape makes no sense.
        let value: String?
        /// As it came.
        let raw: String
    }

    let parameters: [Parameter]

    init(_ query: String?) {
        self.parameters = (query ?? "").split(separator: "&", omittingEmptySubsequences: true).map { part in
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let raw = halves.count == 2 ? String(halves[1]) : ""
            return Parameter(
                name: Self.decode(halves[0], plusIsSpace: true) ?? String(halves[0]),
                value: Self.decode(raw[...], plusIsSpace: true),
                raw: raw
            )
        }
    }

    var isEmpty: Bool { self.parameters.isEmpty }

    /// On a classic route: the first of that name in any letter case; an escape that makes no sense stands for itself.
    func tolerant(_ name: String) -> Parameter? {
        self.parameters.first { $0.name.lowercased() == name }
            .map { Parameter(name: $0.name, value: $0.value ?? $0.raw, raw: $0.raw) }
    }

    /// Refuses what a route of ours does not know, what is there twice and what cannot be decoded.
    func strict(known: Set<String>) throws -> [String: String] {
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
                throw Problem.invalid(parameter.name, "is there twice")
            }
        }
        return values
    }

    /// Undoes percent-encoding.
    ///
    /// - Returns: nil when an escape is cut short or the bytes are not UTF-8.
    static func decode(_ text: Substring, plusIsSpace: Bool) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit)
                else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(0x20)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
