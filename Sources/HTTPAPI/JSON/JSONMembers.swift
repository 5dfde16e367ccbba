import PushModel
import WebServing

/// The members of a JSON object on a route of ours: each known by name, each of its kind, none twice.
struct StrictMembers {
    /// Few, for their names are known ones: looked through faster than hashed.
    private let values: [JSONValue.Member]
    /// The path of the object in the body, such as `to`; empty for the body itself.
    private let path: String

    /// - Throws: ``Problem`` that names every unknown or repeated member.
    ///
    /// - Parameters:
    ///   - value: The object.
    ///   - path: Where it is in the body.
    ///   - known: The members that it may have.
    ///   - misplaced: What to do with members that are often put here and belong elsewhere.
    init(_ value: JSONValue, path: String = "", known: [String], misplaced: [String: String] = [:]) throws {
        guard case .object(let members) = value else {
            throw Problem.invalid([InvalidValue(member: path, value.mustBe("an object"))])
        }
        var faults: [InvalidValue] = []
        for (index, member) in members.enumerated() {
            if !known.contains(member.name) {
                faults.append(
                    InvalidValue(
                        member: Self.shorten(Self.join(path, member.name)),
                        misplaced[member.name].map { "no such member; \($0)" }
                            ?? Self.unknown(member.name, known: known)
                    )
                )
            } else if members[..<index].contains(where: { $0.name == member.name }) {
                faults.append(InvalidValue(member: Self.join(path, member.name), "is given twice"))
            }
            if faults.count >= 10 { break }
        }
        guard faults.isEmpty else { throw Problem.invalid(faults) }
        self.values = members
        self.path = path
    }

    /// What to say of a member that is not known: what was meant, where that can be guessed.
    static func unknown(_ name: String, known: [String]) -> String {
        if known.isEmpty { return "no such member; there are none here" }
        let other = Self.otherNames[name]?.first(where: known.contains)
        if let meant = other ?? NearestWord.to(name, among: known) { return "no such member; did you mean \(meant)?" }
        return "no such member; known are \(known.sorted().joined(separator: ", "))"
    }

    /// What other backends and the classic routes call it.
    private static let otherNames = [
        "pns": ["service", "services"], "platform": ["service", "services"], "platforms": ["services", "service"],
        "token": ["handle"], "deviceToken": ["handle"], "message": ["body"], "text": ["body"],
    ]

    subscript(name: String) -> JSONValue? {
        guard let member = self.values.first(where: { $0.name == name }) else { return nil }
        if case .null = member.value { return nil }
        return member.value
    }

    func name(of member: String) -> String { Self.join(self.path, member) }

    func string(_ name: String) throws -> String? {
        switch self[name] {
        case nil: nil
        case .string(let text): text
        case let other?: throw self.fault(name, other.mustBe("a string"))
        }
    }

    func requiredString(_ name: String) throws -> String {
        guard let text = try self.string(name) else { throw self.fault(name, "is required") }
        return text
    }

    func bool(_ name: String) throws -> Bool? {
        switch self[name] {
        case nil: nil
        case .bool(let value): value
        case let other?: throw self.fault(name, other.mustBe("true or false"))
        }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        switch self[name] {
        case nil: return nil
        case .number(let text):
            // 3600.0 is a whole number too, in JSON.
            guard let value = Int(text) ?? Double(text).flatMap(Int.init(exactly:)), range.contains(value) else {
                throw self.fault(name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        case let other?: throw self.fault(name, other.mustBe("a number"))
        }
    }

    func array(_ name: String) throws -> [JSONValue]? {
        switch self[name] {
        case nil: nil
        case .array(let values): values
        case let other?: throw self.fault(name, other.mustBe("an array"))
        }
    }

    /// An object of texts.
    func texts(_ name: String) throws -> [String: String] {
        guard let value = self[name] else { return [:] }
        guard case .object(let members) = value else { throw self.fault(name, value.mustBe("an object")) }
        var texts: [String: String] = [:]
        for member in members {
            guard case .string(let text) = member.value else {
                throw self.fault("\(name).\(member.name)", member.value.mustBe("a string"))
            }
            guard texts.updateValue(text, forKey: member.name) == nil else {
                throw self.fault("\(name).\(member.name)", "is given twice")
            }
        }
        return texts
    }

    func fault(_ name: String, _ reason: String) -> Problem {
        .invalid([InvalidValue(member: Self.shorten(self.name(of: name)), reason)])
    }

    private static func join(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    /// Error texts show the member names of callers, shortened: by scalars, for a million accents are one character.
    static func shorten(_ name: String) -> String {
        let first = name.unicodeScalars.prefix(100)
        return first.endIndex == name.endIndex ? name : "\(String(first))…"
    }
}

/// The members of a JSON object on a classic route: any letter case, unknown ones ignored, the last of several counts.
struct TolerantMembers {
    private let values: [String: JSONValue]

    /// - Throws: ``Problem`` when the value is not an object.
    init(_ value: JSONValue) throws {
        guard case .object(let members) = value else {
            throw Problem.invalid([InvalidValue("the body must be an object, not \(value.kind)")])
        }
        self.values = Dictionary(members.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { $1 })
    }

    /// The value of that member, nil also where it is null.
    subscript(name: String) -> JSONValue? {
        guard let value = self.values[name.lowercased()], value != .null else { return nil }
        return value
    }

    func string(_ name: String) throws -> String? {
        switch self[name] {
        case nil: nil
        case .string(let text): text
        case let other?: throw Problem.invalid(name, other.mustBe("a string"))
        }
    }
}
