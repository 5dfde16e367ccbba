package import PushModel

/// A change of an installation: JSON-Patch as hubs have it, whose values are texts and whose tags stand in the path.
package struct InstallationPatch: Sendable, Equatable {
    /// What a step does.
    package enum Operation: String, Sendable { case add, remove, replace }

    /// One step.
    package struct Step: Sendable, Equatable {
        package let operation: Operation
        /// The parts of the path, unescaped.
        package let path: [String]
        /// The value; JSON is a text within.
        package let value: String?

        package init(_ operation: Operation, _ path: [String], _ value: String? = nil) {
            self.operation = operation
            self.path = path
            self.value = value
        }
    }

    /// In their order.
    package let steps: [Step]
    /// The most steps of a patch.
    private static let maximumSteps = 200

    package init(_ steps: [Step]) { self.steps = steps }

    /// The JSON of the patch.
    package var json: JSONValue {
        .array(
            self.steps.map { step in
                let path = step.path.map { "/\($0.replacing("~", with: "~0").replacing("/", with: "~1"))" }.joined()
                return .members([
                    "op": .string(step.operation.rawValue), "path": .string(path),
                    "value": step.value.map { .string($0) },
                ])
            }
        )
    }

    /// Reads a patch.
    ///
    /// - Throws: ``InvalidValue`` that names the step.
    package init(reading bytes: [UInt8]) throws(InvalidValue) {
        let value: JSONValue
        do throws(JSONSyntaxError) { value = try JSONReader.read(bytes) } catch {
            throw InvalidValue("the body is not JSON: line \(error.line), column \(error.column): \(error.reason)")
        }
        guard case .array(let values) = value, values.count <= Self.maximumSteps else {
            throw InvalidValue("a patch is an array of at most \(Self.maximumSteps) steps")
        }
        var steps: [Step] = []
        for (index, value) in values.enumerated() { steps.append(try Self.step(value, at: "[\(index)]")) }
        self.steps = steps
    }

    private static func step(_ value: JSONValue, at place: String) throws(InvalidValue) -> Step {
        let members = try InstallationMembers(value, at: place)
        guard let operation = try members.text("op").flatMap({ Operation(rawValue: $0.lowercased()) }) else {
            throw InvalidValue(member: "\(place).op", "must be add, remove or replace")
        }
        guard let path = try members.text("path"), path.hasPrefix("/") else {
            throw InvalidValue(member: "\(place).path", "must begin with /")
        }
        let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map {
            String($0.replacing("~1", with: "/").replacing("~0", with: "~"))
        }
        let text: String?
        switch members["value"] {
        case nil: text = nil
        case .string(let value): text = value
        // What clients write as a text, and others as what it is.
        case .some(let other): text = other.compactText
        }
        guard operation != .remove, text == nil else { return Step(operation, parts, text) }
        // Null is as good as absent where the installation may be without.
        guard members.isNull("value"), parts.count == 1, Self.optional.contains(parts[0].lowercased()) else {
            throw InvalidValue(member: "\(place).value", "is missing")
        }
        return Step(.remove, parts)
    }

    /// Members that an installation may be without, and that are one value.
    private static let optional: Set<String> = ["userid", "expirationtime"]

    /// The tags that it adds and removes, where it does nothing else: such a patch needs not to know the rest.
    package var tagsAlone: (added: [String], removed: [String])? {
        var (added, removed): ([String], [String]) = ([], [])
        for step in self.steps {
            guard step.path.first?.lowercased() == "tags" else { return nil }
            switch (step.operation, step.path.count) {
            case (.add, 1): added += Self.list(step.value ?? "")
            case (.add, 2) where step.path[1] == "-": added.append(step.value ?? "")
            case (.remove, 2): removed.append(step.path[1])
            default: return nil
            }
        }
        // One that does both with a tag depends on the order.
        let names = Set(added.map(\.withoutCapitals))
        return removed.contains { names.contains($0.withoutCapitals) } ? nil : (added, removed)
    }

    /// Applies the steps.
    ///
    /// - Throws: ``InvalidValue`` that names the path.
    package func apply(to installation: inout WireInstallation) throws(InvalidValue) {
        for step in self.steps {
            try Self.apply(step, to: &installation)
            // After each step: the next one looks at all tags.
            let most = installation.templates.map(\.tags.count).max() ?? 0
            guard max(most, installation.tags.count) <= WireTags.maximumTags else {
                throw InvalidValue(member: "/tags", "an installation has at most \(WireTags.maximumTags) tags")
            }
        }
    }

    private static func apply(_ step: Step, to installation: inout WireInstallation) throws(InvalidValue) {
        let place = "/\(step.path.joined(separator: "/").prefix(80))"
        let value = step.operation == .remove ? nil : step.value
        switch (step.path[0].lowercased(), step.path.count) {
        case ("pushchannel", 1):
            guard let value, !value.isEmpty else { throw InvalidValue(member: place, "cannot be removed") }
            installation.pushChannel = value
            installation.isChannelObject = false
        case ("userid", 1): installation.userID = value.flatMap { $0.isEmpty ? nil : $0 }
        case ("expirationtime", 1): installation.expirationTime = value
        case ("tags", 1...2): try Self.apply(step, behind: 1, at: place, to: &installation.tags)
        case ("templates", 2...4): try Self.applyTemplate(step, at: place, to: &installation)
        case ("pushvariables", 1):
            installation.pushVariables =
                try value.map { text throws(InvalidValue) in
                    try WireInstallation.variables(Self.json(text, at: place))
                } ?? []
        case ("pushvariables", 2):
            installation.pushVariables.removeAll { $0.name == step.path[1] }
            if let value { installation.pushVariables.append(.init(name: step.path[1], value: value)) }
        default: throw InvalidValue(member: place, "is not a path that can be changed")
        }
    }

    private static func applyTemplate(
        _ step: Step,
        at place: String,
        to installation: inout WireInstallation
    ) throws(InvalidValue) {
        let name = step.path[1]
        let index = installation.templates.firstIndex { $0.name == name }
        let value = step.operation == .remove ? nil : step.value
        guard step.path.count > 2 else {
            if let index { installation.templates.remove(at: index) }
            guard let value else { return }
            return installation.templates.append(
                try WireInstallation.template(name, Self.json(value, at: place))
            )
        }
        guard let index else { throw InvalidValue(member: place, "there is no such template") }
        switch (step.path[2].lowercased(), step.path.count) {
        case ("body", 3):
            guard let value, !value.isEmpty else { throw InvalidValue(member: place, "cannot be removed") }
            installation.templates[index].body = value
        case ("expiry", 3): installation.templates[index].expiry = value
        case ("headers", 3):
            let headers = try value.map { text throws(InvalidValue) in try Self.json(text, at: place) }
            installation.templates[index].headers = try WireInstallation.headers(headers, at: place)
        case ("tags", 3...4): try Self.apply(step, behind: 3, at: place, to: &installation.templates[index].tags)
        default: throw InvalidValue(member: place, "is not a path that can be changed")
        }
    }

    /// Changes a list of tags: all of it, or a place of it as RFC 6902 has them; a tag is removed by its name, as at the original.
    ///
    /// - Parameters:
    ///   - step: The step.
    ///   - length: How many parts the path of the list has.
    ///   - place: The path, for errors.
    ///   - tags: The tags, in the order in which the installation shows them.
    /// - Throws: ``InvalidValue`` for what would lose a value.
    private static func apply(
        _ step: Step,
        behind length: Int,
        at place: String,
        to tags: inout [String]
    ) throws(InvalidValue) {
        let value = step.value ?? ""
        guard step.path.count > length else {
            guard step.operation != .remove || value.isEmpty else {
                throw InvalidValue(
                    member: place,
                    "removes all tags and takes no value; for one tag remove \(place)/TAG"
                )
            }
            if step.operation != .add { tags = [] }
            if step.operation != .remove { tags += Self.list(value) }
            return
        }
        let part = step.path[length]
        let index = part == "0" || !part.hasPrefix("0") && part.utf8.allSatisfy(Self.isDigit) ? Int(part) : nil
        switch step.operation {
        case .remove: tags.removeAll { Self.isSame($0, part) }
        case .add where part == "-": tags.append(value)
        case .add where index.map { $0 <= tags.count } == true: tags.insert(value, at: index ?? 0)
        case .replace where index.map { $0 < tags.count } == true: tags[index ?? 0] = value
        case .add where index == nil && part.withoutCapitals == value.withoutCapitals: tags.append(value)
        case .add, .replace:
            throw InvalidValue(
                member: place,
                "is not a place among \(tags.count) tags: add at - or at a number, replace at a number, remove by name"
            )
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether two tags differ in letter case alone; each step compares all of the tags, and most differ in their lengths.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        one.utf8.count == other.utf8.count && one.withoutCapitals == other.withoutCapitals
    }

    /// One tag, or the JSON text of an array of tags.
    private static func list(_ text: String) -> [String] {
        guard text.hasPrefix("["), case .array(let values)? = try? JSONReader.read(Array(text.utf8)) else {
            return [text]
        }
        return values.map { if case .string(let tag) = $0 { tag } else { $0.compactText } }
    }

    private static func json(_ text: String, at place: String) throws(InvalidValue) -> JSONValue {
        do { return try JSONReader.read(Array(text.utf8)) } catch {
            throw InvalidValue(member: place, "the value must be JSON: \(error.reason)")
        }
    }
}
