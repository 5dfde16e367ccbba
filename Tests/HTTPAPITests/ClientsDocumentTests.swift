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

    /// Generators stumble over each of these.
    @Test func valuesHaveOnePlainType() throws {
        let names = ["anyOf", "oneOf", "not", "const", "pattern", "propertyNames", "default", "x-line-schema"]
        let document = try Self.document()
        for section in ["paths", "components"] {
            OpenAPITests.visit(try #require(document[section])) { node in
                // Of a schema; a property may have any name.
                guard node["type"]?.string != nil || node["enum"] != nil else { return }
                for name in names { #expect(node[name] == nil, "\(name) in \(node)") }
                #expect(node["type"]?.string != nil && node["type"]?.string != "null", "\(node)")
                #expect(node["enum"]?.array().contains { $0.string == "null" } != true, "\(node)")
                #expect(node["format"]?.string != "binary" || node["minLength"] == nil, "\(node)")
                #expect(node["maximum"]?.string != "\(Int64.max)", "\(node)")
            }
        }
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
