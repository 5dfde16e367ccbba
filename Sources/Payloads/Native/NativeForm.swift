package import PushModel

/// Reads the sender's own forms, and refuses what their service would refuse, but for their sizes.
///
/// A form that is read can be sent: what is wrong with it is said before the send is accepted.
package enum NativeForm {
    /// A header as the sender gave it.
    package typealias Header = (name: String, value: String)

    /// Reads a form for APNs.
    ///
    /// - Parameters:
    ///   - payload: The JSON body; it is sent with the same members, in their order, without spaces.
    ///   - headers: The headers.
    ///   - topic: The app's bundle id; nil = it has no credentials for APNs.
    /// - Returns: The payload; its kind is the push type.
    /// - Throws: ``InvalidValue`` that names `payload` or the header.
    package static func apns(
        payload: JSONValue,
        headers: [Header],
        topic: String?
    ) throws(InvalidValue) -> NativePayload {
        try Self.check(
            APNsForm.read(payload, headers: HeaderList(headers, known: APNsForm.headers), topic: topic),
            at: "payload"
        )
    }

    /// Reads a form for FCM.
    ///
    /// - Parameter message: The message without its target.
    /// - Returns: The payload.
    /// - Throws: ``InvalidValue`` that names `message` or a member of it.
    package static func fcm(message: JSONValue) throws(InvalidValue) -> NativePayload {
        try Self.check(FCMForm.read(message), at: "message")
    }

    /// Reads a form for WNS.
    ///
    /// - Parameters:
    ///   - body: The XML, or any text for `wns/raw`; its bytes in UTF-8 are sent as they are.
    ///   - headers: The headers.
    /// - Returns: The payload; its kind is that of `X-WNS-Type`, or a toast.
    /// - Throws: ``InvalidValue`` that names `body` or the header.
    package static func wns(body: String, headers: [Header]) throws(InvalidValue) -> NativePayload {
        try Self.check(WNSForm.read(body, headers: HeaderList(headers, known: WNSForm.headers)), at: "body")
    }

    /// Refuses text that is not what its sender wrote: the reader of JSON puts U+FFFD in place of half a surrogate pair.
    private static func check(_ form: NativePayload, at member: String) throws(InvalidValue) -> NativePayload {
        guard !String(decoding: form.body, as: UTF8.self).unicodeScalars.contains("\u{FFFD}") else {
            throw InvalidValue(member: member, "has U+FFFD or half of a surrogate pair: a character was lost")
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
                throw InvalidValue(member: member, "is there twice")
            }
            self.headers.append(header)
        }
    }

    /// Takes a header out of the list.
    mutating func take(_ name: String) -> String? {
        guard let index = self.headers.firstIndex(where: { $0.name == name }) else { return nil }
        return self.headers.remove(at: index).value
    }

    /// Refuses a value that is none of these.
    func require(_ name: String, oneOf values: [String]) throws(InvalidValue) {
        try self.require(name, "must be one of \(values.joined(separator: ", "))") { values.contains($0) }
    }

    /// Refuses a value that does not fit.
    func require(_ name: String, _ reason: String, _ fits: (String) -> Bool) throws(InvalidValue) {
        guard let header = self.headers.first(where: { $0.name == name }), !fits(header.value) else { return }
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
    /// - Throws: ``InvalidValue`` for another value, or a name that is there twice.
    func uniqueMembers(_ member: String) throws(InvalidValue) -> [Member] {
        guard case .object(let members) = self else {
            throw InvalidValue(member: member, "must be an object, not \(self.kind)")
        }
        // By bytes: to Swift, two ways to write an accent are the same name.
        var names: Set<[UInt8]> = []
        for each in members where !names.insert(Array(each.name.utf8)).inserted {
            throw InvalidValue(member: "\(member).\(each.name.prefix(40))", "is there twice")
        }
        return members
    }

    /// The members of an object of FCM's, each in one of its two spellings (`collapse_key`, `collapseKey`).
    ///
    /// - Throws: ``InvalidValue`` for another value, or a member that is there twice.
    func uniqueFields(_ member: String) throws(InvalidValue) -> [Member] {
        let members = try self.uniqueMembers(member)
        var names: Set<String> = []
        for each in members where !names.insert(each.name.replacing("_", with: "").lowercased()).inserted {
            throw InvalidValue(member: "\(member).\(each.name.prefix(40))", "is there twice, in both spellings")
        }
        return members
    }

    /// - Throws: ``InvalidValue`` unless it is an object of texts.
    func requireTexts(_ member: String) throws(InvalidValue) {
        for each in try self.uniqueMembers(member) {
            guard case .string = each.value else {
                throw InvalidValue(
                    member: "\(member).\(each.name.prefix(40))",
                    "must be a string, not \(each.value.kind)"
                )
            }
        }
    }
}
