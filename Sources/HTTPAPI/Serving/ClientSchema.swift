import Yams

/// A schema of the API's description as generators of clients take it: what a value is, and not what else it needs or excludes.
///
/// The server checks that anyway, and says what is wrong. A client that checked patterns would refuse what the server takes, for some say
/// less than is allowed. Null is the same as left out.
enum ClientSchema {
    /// - Parameter schema: A schema of the description, or what may stand in its place, such as `false`.
    /// - Returns: The schema with what generators understand.
    static func simplified(_ schema: Node) -> Node {
        guard let schema = schema.mapping else { return schema }
        var simple = Self.withoutAlternatives(schema)
        for name in Self.constraints { simple[name] = nil }
        Self.setType(of: &simple)
        if simple["maximum"]?.string == "\(Int64.max)" {
            simple["maximum"] = nil
            simple["format"] = "int64"
        }
        if simple["format"] == "binary" { simple["minLength"] = nil }
        for name in ["items", "additionalProperties"] { simple[name] = simple[name].map(Self.simplified) }
        // Parts without a name are constraints.
        let parts = simple["allOf"]?.array() ?? []
        simple["allOf"] = parts.contains { $0["$ref"] != nil } ? Node(parts.map(Self.simplified)) : nil
        simple["properties"] = simple["properties"]?.mapping.map { .mapping(Self.properties([$0])) }
        return .mapping(simple)
    }

    /// One object with the members of several objects, of which a value is one.
    static func united(_ schemas: [Node], description: Node?) -> Node {
        let required = schemas.map { Set($0["required"]?.array(of: String.self) ?? []) }
        let ofAll = required.dropFirst().reduce(required.first ?? []) { $0.intersection($1) }
        var object: Node.Mapping = ["type": "object"]
        object["description"] = description
        object["required"] = ofAll.isEmpty ? nil : Node(ofAll.sorted().map { Node($0) })
        object["properties"] = .mapping(Self.properties(schemas.compactMap { $0["properties"]?.mapping }))
        return .mapping(object)
    }

    /// How values look, what they exclude, and what the server takes for a member that is left out.
    private static let constraints = ["anyOf", "oneOf", "not", "pattern", "propertyNames", "default"]

    /// The members that may have a value; of those with one name the first.
    private static func properties(_ objects: [Node.Mapping]) -> Node.Mapping {
        var all: Node.Mapping = [:]
        for (name, schema) in objects.joined() where all[name] == nil && !Self.isNothing(schema) {
            all[name] = Self.simplified(schema)
        }
        return all
    }

    private static func isNothing(_ schema: Node) -> Bool { schema.bool == false || schema["type"]?.string == "null" }

    /// A schema without a type of its own is the first of its alternatives that has a name, or any value.
    private static func withoutAlternatives(_ schema: Node.Mapping) -> Node.Mapping {
        let alternatives = (schema["anyOf"] ?? schema["oneOf"])?.array() ?? []
        guard schema["type"] == nil, let named = alternatives.first(where: { $0["$ref"] != nil })?.mapping else {
            return schema
        }
        var merged = schema
        for (name, value) in named { merged[name] = value }
        return merged
    }

    /// Says the type also where only values are listed, and leaves null out.
    private static func setType(of schema: inout Node.Mapping) {
        if let only = schema["const"] {
            schema["const"] = nil
            schema["enum"] = [only]
        }
        if let types = schema["type"]?.sequence {
            let real = types.filter { $0.string != "null" }
            schema["type"] = real.count == 1 ? real.first : nil
        }
        let values = schema["enum"]?.array().filter { $0.string != "null" } ?? []
        guard let first = values.first else { return }
        schema["enum"] = first.bool == nil ? Node(values) : nil
        if schema["type"] == nil {
            schema["type"] = first.bool != nil ? "boolean" : first.int != nil ? "integer" : "string"
        }
    }
}
