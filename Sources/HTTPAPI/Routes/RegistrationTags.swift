import PushModel
import WebServing

/// The tags that a registration is to have, as JSON has them.
enum RegistrationTags {
    /// - Parameters:
    ///   - value: The array; nil = no tags.
    ///   - member: The array's member name.
    ///   - spec: The app: how it compares names of users, and how many tags a registration may have.
    /// - Returns: The tags in order, without duplicates.
    /// - Throws: ``Problem`` that names the element.
    static func read(_ value: JSONValue?, member: String, _ spec: AppSpec) throws -> [Tag] {
        guard let value else { return [] }
        guard case .array(let values) = value else {
            throw Problem.invalid(member, value.mustBe("an array"))
        }
        guard values.count <= AppSpec.tagsInAList else {
            let most = "a list has at most \(AppSpec.tagsInAList) tags, repeated ones counted"
            throw Problem.invalid(member, "\(most); this one has \(values.count)")
        }
        var (tags, known): ([Tag], Set<Tag>) = ([], [])
        for (index, value) in values.enumerated() {
            guard case .string(let text) = value else {
                throw Problem.invalid("\(member)[\(index)]", value.mustBe("a string"))
            }
            do {
                let tag = try Tag(text, spec.users)
                if known.insert(tag).inserted { tags.append(tag) }
            } catch {
                throw Problem.invalid([error.named("\(member)[\(index)]")])
            }
            guard tags.count <= spec.mostTags else {
                throw Problem.invalid(member, "a registration of this app has at most \(spec.mostTags) tags")
            }
        }
        return tags
    }
}
