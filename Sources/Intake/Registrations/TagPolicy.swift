package import PushModel

/// Who may claim which tag for a device: for the API's routes, imports, and the wire of a hub.
///
/// A tag may belong to a user (``Tag/Owned``), to an installation of a hub, or to the app, which reserves beginnings of tags. All others
/// are free.
package struct TagPolicy: Sendable {
    private let users: AppSpec.Users
    /// Beginnings of tags that the app keeps to itself.
    private let reserved: [String]

    package init(_ spec: AppSpec) { (self.users, self.reserved) = (spec.users, spec.reservedTags) }

    /// A user claims tags for a device.
    ///
    /// - Throws: `Refusal` that names the tag.
    package func check(_ tags: [Tag], claimedBy user: UserName) throws(Refusal) {
        for tag in tags where tag != Tag(user: user) {
            if let owned = tag.owned, tag != Tag(owned, of: user) {
                throw Refusal(.forbidden, "the tag \"\(tag)\" belongs to another user")
            }
            if tag.begins(withOneOf: [Tag.installationPrefix]) {
                throw Refusal(.forbidden, "the tag \"\(tag)\" is for installations, which are made through the hub")
            }
            if tag.begins(withOneOf: self.reserved) {
                throw Refusal(.forbidden, "the tag \"\(tag)\" begins with a prefix that the app reserves")
            }
        }
    }

    /// A client of a hub claims tags: devices have the key of a rule that may listen, so what the app reserves needs one that may manage.
    ///
    /// - Parameters:
    ///   - tags: The tags that the client gives.
    ///   - kept: Those that the registration has already.
    ///   - rule: The rule whose key it has.
    /// - Throws: `InvalidValue` that names the tag.
    package func check(_ tags: [Tag], kept: [Tag], claimedBy rule: HubRule) throws(InvalidValue) {
        guard !rule.rights.contains(.manage) else { return }
        for tag in tags where tag.begins(withOneOf: self.reserved) && !kept.contains(tag) {
            throw InvalidValue(
                member: "Tags",
                "\"\(tag)\" begins with a prefix that the app reserves: only a rule with the right manage sets it"
            )
        }
    }

    /// A registration as a list of tags has it: a user's own tag names the user, where nothing else does, and is not kept among the tags.
    ///
    /// - Parameters:
    ///   - tags: The tags.
    ///   - named: The user, if they are named in another way.
    ///   - other: Whose it is where nobody is named; nil = nobody's.
    ///   - member: The name of a tag's place.
    /// - Returns: The user, and the other tags.
    /// - Throws: `InvalidValue` for a tag that belongs to another user.
    package func divide(
        _ tags: [Tag],
        user named: UserName?,
        or other: UserName? = nil,
        member: (_ index: Int) -> String
    ) throws(InvalidValue) -> (user: UserName?, tags: [Tag]) {
        var user = named
        if user == nil, let index = tags.firstIndex(where: { $0.owned == .user }), let owner = tags[index].owner {
            do { user = try UserName(owner.text, self.users) } catch { throw error.named(member(index)) }
        }
        user = user ?? other
        var rest: [Tag] = []
        for (index, tag) in tags.enumerated() {
            if let owned = tag.owned {
                guard let user, tag == Tag(owned, of: user) else {
                    let reason = "\"\(tag)\" belongs to a user other than the registration's"
                    throw InvalidValue(member: member(index), reason)
                }
            }
            if tag.owned != .user { rest.append(tag) }
        }
        return (user, rest)
    }

    /// Whether tags can be added or removed without a look at whose the registration is.
    package static func areFree(_ tags: [Tag]) -> Bool { tags.allSatisfy { $0.owned == nil } }

    /// Tags are added to a registration and removed from it, which may be anybody's.
    ///
    /// - Parameters:
    ///   - patch: The tags.
    ///   - user: Who claims them; nil = the app.
    /// - Throws: `InvalidValue` for a tag that a patch cannot change; `Refusal` for one that the user may not claim.
    package func check(_ patch: RegisterRequest.Patch, claimedBy user: UserName?) throws {
        for (member, tags) in [("tags.add", patch.add), ("tags.remove", patch.remove)] {
            if let tag = tags.first(where: { $0.owned == .user }) {
                throw InvalidValue(
                    member: member,
                    "\"\(tag)\" names the registration's user; use PUT to change the user"
                )
            }
        }
        if let user { return try self.check(patch.add, claimedBy: user) }
        guard let tag = patch.add.first(where: { $0.owned != nil }) else { return }
        throw InvalidValue(
            member: "tags.add",
            "\"\(tag)\" is only for the devices of that user; use PUT, which names the user"
        )
    }
}
