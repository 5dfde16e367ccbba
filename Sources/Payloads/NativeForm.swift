package import PushModel

/// The form in which a send gives a notification in one service's own words: a member of the payload, and headers.
///
/// What the service would refuse is refused, but for its size: a form that is read can be sent.
package struct NativeForm: Sendable {
    /// A header as the sender gave it.
    package typealias Header = (name: String, value: String)

    /// The member that has the payload.
    package let member: String
    /// The headers that a send may set, in the service's spelling; empty = the form has no member for headers.
    package let headers: [String]
    /// The form in the API's description: a schema in YAML.
    package let schema: String
    /// Until when a form says that its service is to keep it, if it says so, where it begins at that moment.
    let keepUntil: @Sendable (NativePayload, Timestamp) -> Timestamp?
    /// Reads the payload; its errors name ``member`` or a header.
    let make: @Sendable (JSONValue, HeaderList, AppSpec) throws(InvalidValue) -> NativePayload

    /// The names of its members.
    package var members: [String] { [self.member] + (self.headers.isEmpty ? [] : ["headers"]) }

    /// Reads a form.
    ///
    /// - Parameters:
    ///   - payload: The value of ``member``.
    ///   - headers: The headers.
    ///   - app: The app's declaration: a send can choose nothing that is not in it.
    /// - Returns: The payload, as its service wants it.
    /// - Throws: ``InvalidValue`` that names the member of the form.
    package func read(
        _ payload: JSONValue,
        headers: [Header] = [],
        of app: AppSpec
    ) throws(InvalidValue) -> NativePayload {
        let form = try self.make(payload, HeaderList(headers, known: self.headers), app)
        // The reader of JSON puts U+FFFD in place of half a surrogate pair: the text is not what its sender wrote.
        guard !String(decoding: form.body, as: UTF8.self).unicodeScalars.contains("\u{FFFD}") else {
            throw InvalidValue(member: self.member, "has U+FFFD or half of a surrogate pair: a character was lost")
        }
        return form
    }
}

/// The headers of a form: known ones, each once, in the service's spelling.
struct HeaderList {
    private(set) var headers: [NativePayload.Header] = []

    /// - Throws: ``InvalidValue`` that names the header.
    init(_ given: [NativeForm.Header], known: [String]) throws(InvalidValue) {
        for (name, value) in given {
            let member = "headers.\(name.prefix(40))"
            guard let spelling = known.first(where: { $0.lowercased() == name.lowercased() }) else {
                throw InvalidValue(
                    member: member,
                    "cannot be set by a send; known are \(known.joined(separator: ", "))"
                )
            }
            let header = NativePayload.Header(spelling, value)
            guard header.isSafe else {
                throw InvalidValue(member: member, "must be visible ASCII characters, and no space at either end")
            }
            guard !self.headers.contains(where: { $0.name == spelling }) else {
                throw InvalidValue(member: member, "is given twice")
            }
            self.headers.append(header)
        }
    }

    /// Takes a header out of the list.
    mutating func take(_ name: String) -> String? {
        guard let index = self.headers.firstIndex(where: { $0.name == name }) else { return nil }
        return self.headers.remove(at: index).value
    }

    /// The value of a header.
    func header(_ name: String) -> String? { self.headers.first { $0.name == name }?.value }

    /// Refuses a value that is none of these.
    func require(_ name: String, oneOf values: [String]) throws(InvalidValue) {
        try self.require(name, "must be one of \(values.joined(separator: ", "))") { values.contains($0) }
    }

    /// Refuses a value that does not fit.
    func require(_ name: String, _ reason: String, _ fits: (String) -> Bool) throws(InvalidValue) {
        guard let value = self.header(name), !fits(value) else { return }
        throw InvalidValue(member: "headers.\(name)", reason)
    }

    /// Whether a text is a whole number of at most so many digits.
    static func isNumber(_ text: String, digits: Int) -> Bool {
        (1...digits).contains(text.utf8.count)
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

extension JSONValue {
    /// The members of an object, each name once.
    ///
    /// - Throws: ``InvalidValue`` for another value, or a name given twice.
    func uniqueMembers(_ member: String) throws(InvalidValue) -> [Member] {
        guard case .object(let members) = self else {
            throw InvalidValue(member: member, self.mustBe("an object"))
        }
        // By bytes: to Swift, two ways to write an accent are the same name.
        var names: Set<[UInt8]> = []
        for each in members where !names.insert(Array(each.name.utf8)).inserted {
            throw InvalidValue(member: "\(member).\(each.name.prefix(40))", "is given twice")
        }
        return members
    }

    /// The members of an object of FCM's, each in one of its two spellings (`collapse_key`, `collapseKey`).
    ///
    /// - Throws: ``InvalidValue`` for another value, or a member given twice.
    func uniqueFields(_ member: String) throws(InvalidValue) -> [Member] {
        let members = try self.uniqueMembers(member)
        var names: Set<String> = []
        for each in members where !names.insert(each.name.replacing("_", with: "").lowercased()).inserted {
            throw InvalidValue(member: "\(member).\(each.name.prefix(40))", "is given twice, in both spellings")
        }
        return members
    }

    /// - Throws: ``InvalidValue`` unless it is an object of texts.
    func requireTexts(_ member: String) throws(InvalidValue) {
        for each in try self.uniqueMembers(member) {
            guard case .string = each.value else {
                throw InvalidValue(
                    member: "\(member).\(each.name.prefix(40))",
                    each.value.mustBe("a string")
                )
            }
        }
    }
}
