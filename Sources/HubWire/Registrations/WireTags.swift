package import PushModel

/// Tags as the wire writes them, and what the system's own stand for.
///
/// `$InstallationId:{x}` is our tag `installation:x`, `$UserId:{ann}` is `username:ann`.
package enum WireTags {
    private static let installation = Tag.installationPrefix
    private static let installationBegin = "$installationid:{"
    private static let userBegin = "$userid:{"

    /// The tags of a list with commas; spaces around them do not count.
    package static func list(_ text: String) -> [String] {
        text.split(separator: ",").map { String($0.trimming()) }.filter { !$0.isEmpty }
    }

    /// The tag of an installation.
    ///
    /// - Throws: ``InvalidValue`` for an id that no tag can have.
    package static func tag(ofInstallation id: String) throws(InvalidValue) -> Tag {
        do { return try Tag(self.installation + id, .exact) } catch {
            throw InvalidValue(
                "an installation's id must have 1 to \(Tag.maximumLength - self.installation.utf8.count) letters, digits and _ @ # . : - ="
            )
        }
    }

    /// The id of the installation whose tag this is.
    package static func installation(of tag: Tag) -> String? {
        tag.key.hasPrefix(self.installation)
            ? String(decoding: tag.name.utf8.dropFirst(self.installation.utf8.count), as: UTF8.self) : nil
    }

    /// The most tags of a registration or an installation, its user's own not counted, as on Azure's wire.
    package static let maximumTags = 60

    /// The tags that a client gives a registration.
    ///
    /// - Throws: ``InvalidValue`` for one that is none, and for those of the system.
    package static func tags(_ names: [String], _ users: AppSpec.Users) throws(InvalidValue) -> [Tag] {
        var tags: [Tag] = []
        var known: Set<Tag> = []
        for name in names {
            guard !name.hasPrefix("$") else { throw InvalidValue(member: "Tags", "tags cannot start with $") }
            let tag: Tag
            do { tag = try Tag(name, users) } catch { throw error.named("Tags") }
            guard Self.installation(of: tag) == nil else {
                throw InvalidValue(member: "Tags", "\(self.installation) is the beginning of the tags of installations")
            }
            if known.insert(tag).inserted { tags.append(tag) }
            // Within the loop: a body has room for thousands.
            guard tags.count <= Self.maximumTags else {
                throw InvalidValue(member: "Tags", "a registration has at most \(Self.maximumTags) tags")
            }
        }
        return tags
    }

    /// The tags that the wire shows of a registration: those of the system first.
    package static func shown(_ registration: Registration) -> [String] {
        let installation = registration.tags.lazy.compactMap(Self.installation(of:)).first
        var names: [String] = []
        if let installation {
            names.append("$InstallationId:{\(installation)}")
            // A name that a tag cannot have is read of the installation alone.
            if let user = registration.user, Tag(.user, of: user) != nil { names.append("$UserId:{\(user.name)}") }
        }
        for tag in registration.tags where Self.installation(of: tag) == nil {
            if installation == nil || tag.owned != .user { names.append(tag.name) }
        }
        return names
    }

    /// Reads an expression with tags of the system.
    ///
    /// - Throws: ``InvalidValue``; its columns are those of the text with our own tags in it.
    package static func expression(_ text: String, _ users: AppSpec.Users) throws(InvalidValue) -> TagExpression {
        try TagExpression(parsing: self.translated(text), users)
    }

    /// Reads one tag, which may be one of the system.
    package static func tag(_ text: String, _ users: AppSpec.Users) throws(InvalidValue) -> Tag {
        try Tag(self.translated(text), users)
    }

    /// The text with our own tags in place of those of the system; what stands in quotes is a name, and stays.
    private static func translated(_ text: String) throws(InvalidValue) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var output: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "$"): output += try Self.takeTag(&rest)
            case UInt8(ascii: "'"):
                // With both quotes; one that does not end is for the reader of the expression to refuse.
                let quoted = rest.prefix(rest.dropFirst().prefix { $0 != byte }.count + 2)
                output += quoted
                rest = rest.dropFirst(quoted.count)
            default:
                output.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Takes a tag of the system off the front.
    ///
    /// - Returns: Our own.
    private static func takeTag(_ rest: inout ArraySlice<UInt8>) throws(InvalidValue) -> [UInt8] {
        let known = [(self.installationBegin, self.installation), (self.userBegin, Tag.Owned.user.rawValue)]
        let found = known.first { begin, _ in
            String(decoding: rest.prefix(begin.utf8.count), as: UTF8.self).withoutCapitals == begin
        }
        guard let (begin, tag) = found else {
            throw InvalidValue("a tag that begins with $ is $InstallationId:{…} or $UserId:{…}")
        }
        let name = rest.dropFirst(begin.utf8.count).prefix(while: Tag.allowsInName)
        guard !name.isEmpty, name.endIndex < rest.endIndex, rest[name.endIndex] == UInt8(ascii: "}") else {
            throw InvalidValue("the braces of \(begin)…} must have 1 or more letters, digits and _ @ # . : - =")
        }
        rest = rest[(name.endIndex + 1)...]
        return Array(tag.utf8) + name
    }
}
