import Yams

/// The API's description for generators of clients: the same operations and bodies, in words that they understand.
///
/// The app is part of the base path, so that no operation is there twice. What belongs to no app is not in it, nor sessions of browsers.
enum ClientsDocument {
    /// Made once for all who ask for it.
    static let text = Result { try Self.make(from: OpenAPIDocument.text) }

    /// Schemas that are one of several: one object with the members of all, and of the schemas named here.
    private static let united: KeyValuePairs = ["Audience": ["Channel"], "Send": []]
    /// Generators call functions of their own so: `NewKey` makes a `Key`.
    private static let renamed = ["NewAccount": "AccountBody", "NewKey": "KeyBody"]

    private static func make(from text: String) throws -> String {
        let text = Self.renamed.reduce(into: text) { $0.replace($1.key, with: $1.value) }
        var document = try Yams.compose(yaml: text) ?? [:]
        let paths = Self.simplified(Self.paths(document["paths"] ?? [:]))
        document["servers"] = [["url": "/api/apps/{app}", "variables": ["app": ["default": "default"]]]]
        document["security"] = Node((document["security"] ?? []).array().filter { $0["session"] == nil })
        document["tags"] = Self.tags(document["tags"] ?? [], of: paths)
        document["paths"] = paths
        document["components"] = Self.used(Self.components(document["components"] ?? [:]), by: paths)
        return try Yams.serialize(node: document, width: -1, allowUnicode: true)
    }

    /// What belongs to an app, below the app's path.
    private static func paths(_ paths: Node) -> Node {
        var kept: [(Node, Node)] = []
        for (path, item) in paths.members {
            guard let path = path.string, path.hasPrefix(Route.apiPrefix), !path.hasPrefix(Route.appPrefix),
                !item.operations.contains(where: { $0["tags"] == ["sessions"] })
            else { continue }
            kept.append((Node("/\(path.dropFirst(Route.apiPrefix.count))"), item))
        }
        return Node(kept)
    }

    /// Those that the paths' operations have.
    private static func tags(_ tags: Node, of paths: Node) -> Node {
        let used = Set(paths.members.flatMap(\.1.operations).flatMap { $0["tags"]?.array() ?? [] })
        return Node(tags.array().filter { $0["name"].map(used.contains) == true })
    }

    /// Has the schemas in paths, parameters and answers simplified.
    ///
    /// What is not JSON is a text, or in an answer bytes: generators look at an answer's media type before they make it a text.
    private static func simplified(_ node: Node, isAnswer: Bool = false) -> Node {
        if let sequence = node.sequence { return Node(sequence.map { Self.simplified($0) }) }
        guard let mapping = node.mapping else { return node }
        let text: Node = ["schema": ["type": "string"]]
        let bytes: Node = ["schema": ["type": "string", "format": "binary"]]
        return Node(
            mapping.map { name, value in
                switch name.string {
                case "schema": (name, ClientSchema.simplified(value))
                case "text/event-stream": (name, text)
                case "application/x-ndjson": (name, isAnswer ? bytes : text)
                case "content" where value["*/*"] != nil: (name, ["*/*": bytes])
                default: (name, Self.simplified(value, isAnswer: isAnswer || name == "responses"))
                }
            }
        )
    }

    private static func components(_ components: Node) -> Node {
        let schemas = components["schemas"] ?? [:]
        var simple = Self.simplified(components)
        simple["schemas"] = Node(schemas.members.map { ($0, ClientSchema.simplified($1)) })
        for (name, others) in Self.united {
            let parts = (schemas[name]?["oneOf"]?.array() ?? []).map { part in
                part["$ref"]?.string.flatMap { Self.component($0, of: components) } ?? part
            }
            simple["schemas"]?[name] = ClientSchema.united(
                parts + others.compactMap { schemas[$0] },
                description: schemas[name]?["description"]
            )
        }
        // What is in a form of the sender's own, the push service's documents say.
        for (name, _) in schemas["Native"]?["properties"]?.members ?? [] {
            simple["schemas"]?["Native"]?["properties"]?[name] = ["type": "object", "additionalProperties": "true"]
        }
        return simple
    }

    /// What a reference such as `#/components/schemas/Job` is to.
    private static func component(_ reference: String, of components: Node) -> Node? {
        reference.split(separator: "/").dropFirst(2).reduce(components as Node?) { $0?[String($1)] }
    }

    /// The components that paths refer to, and those that these refer to.
    private static func used(_ components: Node, by paths: Node) -> Node {
        var found: Set<String> = []
        var waiting = paths.references
        while let reference = waiting.popLast() {
            guard found.insert(reference).inserted else { continue }
            waiting += Self.component(reference, of: components)?.references ?? []
        }
        return Node(
            components.members.map { section, parts in
                let kept = parts.members.filter { name, _ in
                    section == "securitySchemes"
                        ? name != "session"
                        : found.contains("#/components/\(section.string ?? "")/\(name.string ?? "")")
                }
                return (section, Node(kept))
            }
        )
    }
}

extension Node {
    fileprivate var members: [(Node, Node)] { (self.mapping ?? [:]).map { ($0.key, $0.value) } }

    /// Of a path, without what they have in common.
    fileprivate var operations: [Node] { self.members.filter { $0.0 != "parameters" }.map(\.1) }

    /// What it refers to, however deep.
    fileprivate var references: [String] {
        if let sequence = self.sequence { return sequence.flatMap(\.references) }
        return self.members.flatMap { name, value in
            name == "$ref" ? [value.string].compactMap(\.self) : value.references
        }
    }
}
