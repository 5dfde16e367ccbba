import PushModel
import Yams

/// A mapping of a YAML file whose keys are read one by one, by name and kind.
struct YAMLSection {
    /// The file's name, for messages.
    let file: String
    /// Such as `apps.default.apns`.
    let path: String
    private let values: [String: Node]
    private let mark: Mark?

    /// - Parameters:
    ///   - node: The mapping.
    ///   - file: The file's name.
    ///   - path: Where the mapping stands in the file.
    ///   - known: The keys that mean something; nil = any.
    /// - Throws: ``AppsFileError`` when the node is no mapping or has a key that is not known.
    init(_ node: Node, file: String, path: String, known: [String]?) throws {
        self.file = file
        self.path = path
        self.mark = node.mark
        guard let mapping = node.mapping else {
            throw Self.fault(file, node.mark, path, "must be a section with keys of its own")
        }
        var values: [String: Node] = [:]
        for (key, value) in mapping {
            guard let scalar = key.scalar else { throw Self.fault(file, key.mark, path, "a key must be a word") }
            let name = scalar.string
            if let known, !known.contains(name) {
                let near = NearestWord.to(name, among: known)
                let advice = near.map { "did you mean \($0)?" } ?? "known are \(known.joined(separator: ", "))"
                throw Self.fault(file, key.mark, Self.join(path, name), "unknown; \(advice)")
            }
            values[name] = value
        }
        self.values = values
    }

    /// The keys that are there, sorted.
    var keys: [String] { self.values.keys.sorted() }

    func path(of key: String) -> String { Self.join(self.path, key) }

    /// The error for that key, at its line.
    func fault(_ key: String, _ reason: String) -> AppsFileError {
        Self.fault(self.file, self.values[key]?.mark ?? self.mark, self.path(of: key), reason)
    }

    /// The section under that key, or nil where there is none.
    func section(_ key: String, known: [String]?) throws -> YAMLSection? {
        guard let node = self.values[key] else { return nil }
        return try YAMLSection(node, file: self.file, path: self.path(of: key), known: known)
    }

    /// The text under that key, or nil where there is none.
    func text(_ key: String) throws -> String? {
        guard let node = self.values[key] else { return nil }
        return try self.text(node, key)
    }

    func requiredText(_ key: String) throws -> String {
        guard let text = try self.text(key) else { throw self.fault(key, "is missing") }
        return text
    }

    /// The beginning of the day under that key, in UTC; nil where there is none.
    func date(_ key: String) throws -> Timestamp? {
        guard let text = try self.text(key) else { return nil }
        guard text.utf8.count == 10, let date = Timestamp(rfc3339: "\(text)T00:00:00Z") else {
            throw self.fault(key, "must be a day, such as 2027-01-31")
        }
        return date
    }

    /// The list of texts under that key; empty where there is none.
    func texts(_ key: String) throws -> [String] {
        guard let node = self.values[key] else { return [] }
        guard let sequence = node.sequence else { throw self.fault(key, "must be a list, such as [a, b]") }
        return try sequence.map { try self.text($0, key) }
    }

    /// The whole number under that key, or nil where there is none.
    func integer(_ key: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let node = self.values[key] else { return nil }
        let expectation = "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard let scalar = node.scalar, scalar.style == .plain, let number = Int(scalar.string), range.contains(number)
        else { throw self.fault(key, expectation) }
        return number
    }

    /// true or false, or nil where there is neither.
    func boolean(_ key: String) throws -> Bool? {
        guard let node = self.values[key] else { return nil }
        guard let scalar = node.scalar, scalar.style == .plain, let value = Bool(scalar.string) else {
            throw self.fault(key, "must be true or false")
        }
        return value
    }

    /// The word under that key, or nil where there is none.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: String, of type: Choice.Type) throws -> Choice?
    {
        guard let word = try self.text(key) else { return nil }
        guard let choice = Choice(rawValue: word) else {
            throw self.fault(key, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    /// A number is text where text is wanted (`team_id: 1234567890`); true, null and nothing are not.
    private func text(_ node: Node, _ key: String) throws -> String {
        let isText = [Tag(.str), Tag(.int), Tag(.float), Tag(.timestamp)].contains(node.tag)
        guard let scalar = node.scalar, isText else {
            throw self.fault(key, "must be text\(node.scalar?.string == "" ? ", and is empty" : "")")
        }
        guard !scalar.string.isEmpty else { throw self.fault(key, "is empty") }
        return scalar.string
    }

    private static func join(_ path: String, _ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    private static func fault(_ file: String, _ mark: Mark?, _ path: String, _ reason: String) -> AppsFileError {
        let place = mark.map { "\(file):\($0.line)" } ?? file
        return AppsFileError(path.isEmpty ? "\(place): \(reason)" : "\(place): \(path): \(reason)")
    }
}
