package import PushModel
import Store

/// The work of a new job as it is stored; made outside of the transaction, in which others wait.
///
/// Audiences of many tags are stored beside their jobs, so that lists of jobs do not read 20,000 names.
package struct StoredWork: Sendable {
    package let text: String
    /// All tags, a line each, where the work has only the first.
    package let audience: String?

    package init(_ work: Job.Work) throws {
        self.text = try StoredJSON.text(work: work)
        guard case .send(let send) = work, send.preview.truncatedTags > 0, let tags = send.audience.alternatives else {
            self.audience = nil
            return
        }
        self.audience = tags.map(\.name).joined(separator: "\n")
    }

    /// The tags of an ``audience``.
    package static func tags(in lines: String) throws -> [Tag] {
        let tags = try lines.utf8.split(separator: UInt8(ascii: "\n")).map { try Tag(stored: String($0) ?? "") }
        guard !tags.isEmpty else { throw StoreError(.corrupt, "a job's audience names nobody") }
        return tags
    }
}
