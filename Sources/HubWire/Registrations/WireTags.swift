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
            guard tags.count <= Registration.maximumTags else {
                throw InvalidValue(member: "Tags", "a registration has at most \(Registration.maximumTags) tags")
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
            if let user = registration.user { names.append("$UserId:{\(user.name)}") }
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

    /// The text with our own tags in place of those of the system.
    private static func translated(_ text: String) throws(InvalidValue) -> String {
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text }
        var output = ""
        var rest = text[...]
        while let dollar = rest.utf8.firstIndex(of: UInt8(ascii: "$")) {
            output += rest[..<dollar]
            rest = rest[dollar...]
            let lower = rest.prefix(Self.installationBegin.count).lowercased()
            let (begin, tag): (String, String)
            if lower.hasPrefix(Self.installationBegin) {
                (begin, tag) = (Self.installationBegin, Self.installation)
            } else if lower.hasPrefix(Self.userBegin) {
                (begin, tag) = (Self.userBegin, Tag.Owned.user.rawValue)
            } else {
                throw InvalidValue("a tag that begins with $ is $InstallationId:{…} or $UserId:{…}")
            }
            rest = rest.dropFirst(begin.count)
            guard let end = rest.utf8.firstIndex(of: UInt8(ascii: "}")), rest[..<end].utf8.allSatisfy(Tag.allowsInName),
                end > rest.startIndex
            else {
                throw InvalidValue("the braces of \(begin)…} must have 1 or more letters, digits and _ @ # . : - =")
            }
            output += tag + rest[..<end]
            rest = rest[rest.utf8.index(after: end)...]
        }
        return output + rest
    }
}
