import HTTPTypes
import PushModel
import Testing
import Yams

@testable import HTTPAPI

@Suite struct OpenAPITests {
    private func document() throws -> Node {
        try #require(try Yams.compose(yaml: String(decoding: PackageResources.openapi_yaml, as: UTF8.self)))
    }

    @Test func everyRouteIsInTheDocumentAndNoOther() async throws {
        let node = try self.document()
        let names: Set<String> = ["get", "put", "post", "delete", "patch", "options", "head", "trace"]
        var documented: [String: Set<String>] = [:]
        for (path, item) in try #require(node["paths"]?.mapping) {
            let operations = try #require(item.mapping).keys.compactMap(\.string).filter(names.contains)
            documented[try #require(path.string)] = Set(operations)
        }
        let found = documented
        try await Harness.run { api async throws in
            let served = api.table.methods.mapValues { Set($0.map { $0.rawValue.lowercased() }) }
            #expect(found == served)
            let answer = try await api.call(.get, "/openapi.yaml", as: .nobody)
            #expect(answer.bytes == PackageResources.openapi_yaml)
        }
    }

    @Test func everyParameterOfAPathIsDeclared() throws {
        let node = try self.document()
        for (path, item) in try #require(node["paths"]?.mapping) {
            let path = try #require(path.string)
            let wanted = path.split(separator: "/").filter { $0.hasPrefix("{") }.map {
                String($0.dropFirst().dropLast())
            }
            let declared = (item["parameters"]?.sequence ?? []).compactMap {
                Self.resolve($0, in: node)?["name"]?.string
            }
            #expect(Set(declared) == Set(wanted), "\(path)")
        }
    }

    @Test func everyReferenceLeadsSomewhere() throws {
        let node = try self.document()
        func visit(_ node: Node, root: Node) {
            if let reference = node.mapping?["$ref"]?.string {
                #expect(Self.resolve(node, in: root) != nil, "\(reference)")
            }
            for (_, value) in node.mapping ?? [:] { visit(value, root: root) }
            for value in node.sequence ?? [] { visit(value, root: root) }
        }
        visit(node, root: node)
    }

    @Test func theWordsAreThoseOfTheModel() throws {
        let node = try self.document()
        func words(_ schema: String) -> [String] {
            node["components"]?["schemas"]?[schema]?["enum"]?.sequence?.compactMap(\.string) ?? []
        }
        #expect(words("JobState") == Job.State.allCases.map(\.rawValue))
        #expect(words("RegistrationState") == Registration.State.allCases.map(\.rawValue))
        #expect(words("Outcome") == ["accepted"] + FailureClass.allCases.map(\.rawValue))
        #expect(words("Role") == Role.allCases.map(\.rawValue))
        #expect(words("Service") == PNS.allCases.map(\.rawValue))
    }

    private static func resolve(_ node: Node, in root: Node) -> Node? {
        guard let reference = node.mapping?["$ref"]?.string else { return node }
        return reference.split(separator: "/").dropFirst().reduce(root as Node?) { $0?[String($1)] }
    }
}
