import PushModel
import Store
import StoreKit
import StoreSQL

/// The numbers of tags and credentials that rows of an import name.
struct ImportNames {
    struct Credential: Hashable {
        let pns: Int
        let name: String
    }

    /// Names without a number.
    struct Missing {
        var tags: Set<Tag> = []
        var credentials: Set<Credential> = []
    }

    /// Those of a row.
    struct Numbers {
        /// In the row's order, each once; a user's own tag has none.
        var tags: [Int64] = []
        /// nil = the default one.
        var credential: Int64?
    }

    var tags: [ExactText: Int64] = [:]
    var credentials: [Credential: Int64] = [:]

    func numbers(of row: ImportedRegistration, _ missing: inout Missing) -> Numbers {
        var numbers = Numbers()
        for tag in row.tags where tag.owner == nil {
            guard let number = self.tags[ExactText(tag.key)] else {
                missing.tags.insert(tag)
                continue
            }
            if !numbers.tags.contains(number) { numbers.tags.append(number) }
        }
        if let name = row.credential.named {
            let credential = Credential(pns: row.pns.number, name: name.name)
            numbers.credential = self.credentials[credential]
            if numbers.credential == nil { missing.credentials.insert(credential) }
        }
        return numbers
    }
}
