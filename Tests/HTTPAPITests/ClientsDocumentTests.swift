import HTTPTypes
import PushModel
import Testing
import Undisturbed
import Yams

@testable import HTTPAPI

/// What generators of clients are given: `deploy/test clients` makes clients of it, and sends with them.
@Suite(.undisturbed) struct ClientsDocumentTests {
    private static func document() throws -> Node {
        try #require(try Yams.compose(yaml: ClientsDocument.text.get()))
    }

    private static func schema(_ name: String) throws -> Node {
        try #require(try Self.document()["components"]?["schemas"]?[name], "\(name)")
    }

    private static func properties(_ schema: Node) -> [String] {
        schema["properties"]?.mapping?.keys.compactMap(\.string) ?? []
    }

    @Test func itIsServed() async throws {
        try await Harness.run { api async throws in
            let answer = try await api.call(.get, "/openapi-clients.yaml", as: .nobody)
            #expect(answer.status == 200)
            #expect(answer.bytes == Array(try ClientsDocument.text.get().utf8))
        }
    }

    /// Once each, below the app's path; but not what browsers do in a session.
    @Test func everyOperationOfAnAppIsThere() async throws {
        let document = try Self.document()
        let server = try #require(document["servers"]?[0]?["url"]?.string)
        var found: [String: Set<String>] = [:]
        for (path, item) in try #require(document["paths"]?.mapping) {
            let methods = try #require(item.mapping).keys.compactMap(\.string).filter { $0 != "parameters" }
            found[server + (path.string ?? "")] = Set(methods)
        }
        let documented = found
        try await Harness.run { api async throws in
            let ofApps = api.table.methods.filter { $0.key.hasPrefix(Route.appPrefix) && !$0.key.hasSuffix("/session") }
            #expect(documented == ofApps.mapValues { Set($0.map { $0.rawValue.lowercased() }) })
        }
    }

    /// Generators stumble over what is not here.
    private static let words: Set = [
        "$ref", "type", "description", "examples", "format", "enum", "minimum", "maximum", "minLength", "maxLength",
        "properties", "required", "additionalProperties", "maxProperties", "items", "minItems", "maxItems", "allOf",
    ]

    /// What generators stumble over, of all places where a schema stands, whatever is there.
    private static func faults(of document: Node) -> [String] {
        var (seen, faults) = (0, [String]())
        Self.visitSchemas(of: document) { schema, place in
            seen += 1
            faults += Self.faults(in: schema).map { "\(place): \($0)" }
        }
        return seen > 500 ? faults : ["of \(seen) schemas alone"]
    }

    private static func faults(in schema: Node) -> [String] {
        guard let mapping = schema.mapping else { return ["no object"] }
        let names = Set(mapping.keys.compactMap(\.string))
        var faults = names.subtracting(Self.words).sorted()
        // What says not what a value is may be any: then nothing else is said of it.
        let isAny = names.isDisjoint(with: ["$ref", "type", "allOf"])
        if isAny && !names.isSubset(of: ["description", "examples"]) { faults.append("no type") }
        if let type = schema["type"], type.string == nil || type.string == "null" { faults.append("not one type") }
        if schema["enum"]?.array().contains(where: { $0.string == "null" }) == true { faults.append("null in enum") }
        if schema["format"]?.string == "binary" && schema["minLength"] != nil { faults.append("length of binary") }
        if schema["maximum"]?.string == "\(Int64.max)" { faults.append("maximum of int64") }
        return faults
    }

    /// Looks at each schema by its place, not by what it says.
    private static func visitSchemas(of document: Node, _ look: (Node, String) -> Void) {
        func schema(_ node: Node, _ place: String) {
            look(node, place)
            for (name, property) in node["properties"]?.mapping ?? [:] {
                schema(property, "\(place).\(name.string ?? "")")
            }
            if let items = node["items"] { schema(items, "\(place)[]") }
            if let others = node["additionalProperties"], others.bool == nil { schema(others, "\(place).*") }
            for part in node["allOf"]?.array() ?? [] { schema(part, "\(place)&") }
        }
        func visit(_ node: Node, _ place: String) {
            for part in node.sequence ?? [] { visit(part, place) }
            for (name, value) in node.mapping ?? [:] {
                let name = name.string ?? ""
                switch name {
                case "schema": schema(value, place)
                case "example", "examples": break
                default: visit(value, place.isEmpty ? name : "\(place) \(name)")
                }
            }
        }
        visit(document["paths"] ?? [:], "")
        for (section, parts) in document["components"]?.mapping ?? [:] {
            guard section.string == "schemas" else {
                visit(parts, section.string ?? "")
                continue
            }
            for (name, part) in parts.mapping ?? [:] { schema(part, name.string ?? "") }
        }
    }

    @Test func valuesHaveOnePlainType() throws {
        #expect(Self.faults(of: try Self.document()) == [])
        let text = try ClientsDocument.text.get()
        // Go's patterns and others have no look ahead.
        #expect(!text.contains("(?") && !text.contains("x-line-schema"))
    }

    /// It stops at what has stopped generators, also where that says no type.
    @Test(
        arguments: [
            "anyOf: [{minLength: 1}, {maxLength: 2}]", "not: {enum: [a]}", "pattern: ^a$", "type: [string, 'null']",
            "enum: [a]", "{type: string, const: a}", "false",
        ]
    )
    func constraintsAloneAreSeen(text: String) throws {
        let schema = try #require(try Yams.compose(yaml: text))
        let document = try Self.document()
        var inProperty = document
        inProperty["components"]?["schemas"]?["Send"]?["properties"]?["body"] = schema
        #expect(Self.faults(of: inProperty).contains { $0.hasPrefix("Send.body: ") })
        var inItems = document
        inItems["components"]?["schemas"]?["Send"]?["properties"]?["services"] = ["type": "array", "items": schema]
        #expect(Self.faults(of: inItems).contains { $0.hasPrefix("Send.services[]: ") })
        var inParameter = document
        inParameter["paths"]?["/jobs"]?["get"]?["parameters"] = [["name": "a", "in": "query", "schema": schema]]
        #expect(Self.faults(of: inParameter).contains { $0.hasPrefix("/jobs get parameters: ") })
    }

    @Test func aSendIsOneObjectWithAllMembers() throws {
        let send = try Self.schema("Send")
        #expect(Set(Self.properties(send)) == Set(SendBody.members))
        #expect(send["required"] == ["to"])
        #expect(send["properties"]?["to"]?["$ref"] == "#/components/schemas/Audience")
        let audience = try Self.schema("Audience")
        let members = ["user", "users", "tag", "tags", "handles", "registrations", "all", "channel", "credential"]
        #expect(Self.properties(audience) == members)
        #expect(audience["required"] == nil)
    }

    /// Of two schemas `Key` and `NewKey`, a generator makes two functions of one name.
    @Test func noNameIsThatOfAConstructor() throws {
        let names = try #require(try Self.document()["components"]?["schemas"]?.mapping).keys.compactMap(\.string)
        #expect(names.contains("KeyBody") && names.contains("AccountBody"))
        #expect(!names.contains { $0.hasPrefix("New") })
    }

    @Test func whatIsThereIsUsed() throws {
        let document = try Self.document()
        var used: Set<String> = []
        OpenAPITests.visit(document) { node in
            guard let reference = node.mapping?["$ref"]?.string else { return }
            used.insert(reference)
            #expect(OpenAPITests.resolve(node, in: document) != nil, "\(reference)")
        }
        for (section, parts) in try #require(document["components"]?.mapping) where section != "securitySchemes" {
            for name in parts.mapping?.keys.compactMap(\.string) ?? [] {
                #expect(used.contains("#/components/\(section.string ?? "")/\(name)"), "\(name)")
            }
        }
    }
}
