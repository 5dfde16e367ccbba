import PushModel
import WebServing

/// The parameters of a list, each checked and refused by name.
struct ListQuery {
    private let values: [String: String]
    private let maximum: Int
    private let users: AppSpec.Users

    /// - Parameters:
    ///   - request: The request.
    ///   - filters: The parameters besides `cursor` and `limit`.
    ///   - maximum: The greatest `limit`.
    /// - Throws: ``Problem`` 400 that names an unknown or repeated parameter.
    init(_ request: APIRequest, filters: Set<String>, maximum: Int = 1000) throws {
        self.maximum = maximum
        self.users = request.spec.users
        self.values = try request.query.strict(known: filters.union(["cursor", "limit"]))
    }

    subscript(name: String) -> String? { self.values[name] }

    var cursor: String? {
        get throws {
            guard let cursor = self.values["cursor"] else { return nil }
            guard (1...64).contains(cursor.utf8.count) else {
                throw Problem.wrongCursor
            }
            return cursor
        }
    }

    var limit: Int {
        get throws {
            guard let text = self.values["limit"] else { return 100 }
            guard let limit = Int(text), (1...self.maximum).contains(limit), String(limit) == text else {
                throw Problem.invalid("limit", InvalidValue.mustBeWhole(1...self.maximum))
            }
            return limit
        }
    }

    var service: PushService? {
        get throws { try self.choice("service", PushService.allCases.map(\.rawValue), PushService.init(rawValue:)) }
    }

    func user(_ name: String) throws -> UserName? {
        try self.value(name) { text throws(InvalidValue) in try UserName(text, self.users) }
    }

    func tag(_ name: String) throws -> Tag? {
        try self.value(name) { text throws(InvalidValue) in try Tag(text, self.users) }
    }

    /// The name of a key.
    func key(_ name: String) throws -> String? {
        try self.value(name) { text throws(InvalidValue) in
            try APIKey.check(name: text)
            return text
        }
    }

    var job: JobID? {
        get throws {
            guard let text = self.values["job"] else { return nil }
            guard let id = JobID(text) else { throw Problem.invalid("job", "must be the id of a job") }
            return id
        }
    }

    func flag(_ name: String) throws -> Bool? { try self.choice(name, ["true", "false"], Bool.init) }

    var label: JobLabel? {
        get throws { try self.value("label") { text throws(InvalidValue) in try JobLabel(text) } }
    }

    /// The forms under which a handle may be stored.
    func handles(_ name: String) throws -> [Handle]? {
        guard let text = self.values[name] else { return nil }
        guard (1...Handle.maximumLength).contains(text.utf8.count) else {
            throw Problem.invalid(name, "must have 1 to \(Handle.maximumLength) bytes")
        }
        return Handle.lookupForms(of: text)
    }

    private func value<Value>(_ name: String, _ make: (String) throws(InvalidValue) -> Value) throws -> Value? {
        guard let text = self.values[name] else { return nil }
        do { return try make(text) } catch { throw Problem.invalid([error.named(name)]) }
    }

    /// One of a few words.
    func choice<Value>(_ name: String, _ words: [String], _ make: (String) -> Value?) throws -> Value? {
        guard let text = self.values[name] else { return nil }
        guard words.contains(text), let value = make(text) else {
            throw Problem.invalid(name, "must be one of \(words.joined(separator: ", "))")
        }
        return value
    }

    /// A moment, as RFC 3339 has it.
    func time(_ name: String) throws -> Timestamp? {
        guard let text = self.values[name] else { return nil }
        // A form's plus is a space: put it back where an offset has it.
        guard let moment = Timestamp(rfc3339: text.replacing(" ", with: "+")) else {
            throw Problem.invalid(name, "must be a time with a time zone (Z or +01:00), as in 2026-11-21T08:30:00Z")
        }
        return moment
    }
}
