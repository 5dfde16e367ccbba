import HTTPTypes
import PushModel
import Testing
import Undisturbed
import Yams

@testable import HTTPAPI

@Suite(.undisturbed) struct OpenAPITests {
    static func document() throws -> Node {
        try #require(try Yams.compose(yaml: OpenAPIDocument.text))
    }

    @Test func theDocumentHasExactlyTheRoutes() async throws {
        let node = try Self.document()
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
            #expect(answer.bytes == Array(OpenAPIDocument.text.utf8))
            #expect(!OpenAPIDocument.text.contains("$("), "a list that nothing fills in")
        }
    }

    /// By that a client is told to repeat what may have been done.
    @Test func theKeysOfRepeatsAreDocumentedWhereTheyAreTaken() async throws {
        let paths = try #require(try Self.document()["paths"]?.mapping)
        try await Harness.run { api async throws in
            for (template, methods) in api.table.methods {
                for method in methods {
                    let operation = paths[Node(template)]?[method.rawValue.lowercased()]
                    let references = (operation?["parameters"]?.array() ?? []).compactMap { $0["$ref"]?.string }
                    let isDocumented = references.contains("#/components/parameters/IdempotencyKey")
                    let path = template.replacing(/\{[a-z]+\}/, with: "1")
                    let route = try api.table.match(method, path: path).route
                    #expect(route.takesKey == isDocumented, "\(method) \(template)")
                }
            }
        }
    }

    /// No path that a route has is taken for another's, whose parameter fits anything.
    @Test func everyRouteIsFoundByItsPath() async throws {
        try await Harness.run { api async throws in
            for (template, methods) in api.table.methods {
                let path = template.replacing(/\{[a-z]+\}/, with: "1")
                for method in methods {
                    #expect(try api.table.match(method, path: path).template == template, "\(method) \(path)")
                }
            }
        }
    }

    @Test func everyPathParameterIsDeclared() throws {
        let node = try Self.document()
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

    /// The file has those of the default app alone.
    @Test func operationsOfAnAppMatchThoseOfTheDefaultApp() throws {
        let paths = try #require(try Self.document()["paths"]?.mapping)
        for (path, item) in paths {
            let path = try #require(path.string)
            guard let plain = Route.plainTemplate(path) else { continue }
            let ofApp: Node = ["$ref": "#/components/parameters/App"]
            let own = paths[Node(plain)]?["parameters"]?.array() ?? []
            #expect(item["parameters"]?.array() == [ofApp] + own, "\(path)")
            let operations = try #require(item.mapping).filter { $0.key.string != "parameters" }
            #expect(!operations.isEmpty)
            for (method, operation) in operations {
                let name = try #require(method.string)
                var expected = try #require(paths[Node(plain)]?[name])
                // The one thing that must differ.
                expected["operationId"]?.scalar?.string += "OfApp"
                #expect(expected == operation, "\(path)")
            }
        }
    }

    /// Client generators name their functions so.
    @Test func operationIDsAreUnique() throws {
        var names: Set<String> = []
        for (path, item) in try #require(try Self.document()["paths"]?.mapping) {
            for (method, operation) in try #require(item.mapping) where method.string != "parameters" {
                let name = try #require(operation["operationId"]?.string, "\(method) \(path)")
                #expect(name.wholeMatch(of: /[a-z][A-Za-z]+/) != nil, "\(name)")
                #expect(names.insert(name).inserted, "\(name)")
            }
        }
    }

    @Test func everyReferenceResolves() throws {
        let document = try Self.document()
        Self.visit(document) { node in
            guard let reference = node.mapping?["$ref"]?.string else { return }
            #expect(Self.resolve(node, in: document) != nil, "\(reference)")
        }
    }

    @Test func enumerationsMatchTheModel() throws {
        let node = try Self.document()
        func words(_ schema: String) -> [String] {
            node["components"]?["schemas"]?[schema]?["enum"]?.sequence?.compactMap(\.string) ?? []
        }
        #expect(words("JobState") == Job.State.allCases.map(\.rawValue))
        #expect(words("RegistrationState") == Registration.State.allCases.map(\.rawValue))
        #expect(words("Outcome") == ["accepted"] + FailureClass.allCases.map(\.rawValue))
        #expect(words("Role") == Role.allCases.map(\.rawValue))
        #expect(words("Service") == PushService.allCases.map(\.rawValue))
        let parameters = node["components"]?["parameters"]
        let queues = parameters?["Queue"]?["schema"]?["enum"]?.sequence?.compactMap(\.string)
        #expect(queues == WorkQueue.allCases.map(\.description))
    }

    @Test func everyServiceInUseHasAFormInNative() throws {
        let native = try #require(try Self.document()["components"]?["schemas"]?["Native"])
        let forms = try #require(native["properties"]?.mapping)
        #expect(forms.keys.compactMap(\.string) == PushService.inService.map(\.rawValue))
        for (name, form) in forms {
            let required = try #require(form["required"]?.sequence?.first?.string)
            #expect(form["properties"]?[required]?["type"] != nil, "\(name)")
        }
        #expect(native["anyOf"]?.sequence?.count == forms.count)
    }

    /// What a schema says of a value, the server does: here is where a fuzzer found them apart.
    @Test(
        arguments: [
            (.get, "/api/jobs?limit=01", 400), (.get, "/api/jobs?limit=%2B1", 400),
            (.get, "/api/jobs?cursor=999999999999999999", 400), (.get, "/api/jobs?cursor=0", 400),
            (.get, "/api/registrations?cursor=1", 400), (.get, "/api/dead?cursor=1", 403),
            (.get, "/api/jobs?since=2026-01-01t00:00:00z", 200),
            (.post, "/api/register?handle=%C3%A9", 400), (.post, "/api/register?handle=%00", 400),
            (.post, "/api/register?handle=a%20b", 200), (.post, "/api/register?handle=", 200),
        ] as [(HTTPRequest.Method, String, Int)]
    )
    func valuesAreAcceptedAsDocumented(method: HTTPRequest.Method, path: String, status: Int) async throws {
        try await Harness.run { api async throws in
            #expect(try await api.call(method, path).status == status)
        }
    }

    /// Looks at a node and at all that is in it.
    static func visit(_ node: Node, _ look: (Node) -> Void) {
        look(node)
        for (_, value) in node.mapping ?? [:] { Self.visit(value, look) }
        for value in node.sequence ?? [] { Self.visit(value, look) }
    }

    static func resolve(_ node: Node, in root: Node) -> Node? {
        guard let reference = node.mapping?["$ref"]?.string else { return node }
        return reference.split(separator: "/").dropFirst().reduce(root as Node?) { $0?[String($1)] }
    }
}

extension Route {
    /// The template of the default app for a template of any app; nil for another.
    fileprivate static func plainTemplate(_ template: String) -> String? {
        template.hasPrefix(Self.appPrefix) ? Self.apiPrefix + template.dropFirst(Self.appPrefix.count) : nil
    }
}
