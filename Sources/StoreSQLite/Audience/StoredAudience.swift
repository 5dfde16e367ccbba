import PushModel
import Store
import StoreKit

// Audiences of many tags are stored beside their jobs, so that lists of jobs do not read 20,000 names.

/// The work of a new job as it is stored; made outside of the transaction, in which others wait.
struct StoredWork: Sendable {
    let text: String
    /// All tags, a line each, where the work has only the first.
    let audience: String?

    init(_ work: Job.Work) throws {
        self.text = try StoredJSON.text(work: work)
        guard case .send(let send) = work, send.preview.truncatedTags > 0, let tags = send.audience.alternatives else {
            self.audience = nil
            return
        }
        self.audience = tags.map(\.name).joined(separator: "\n")
    }
}

extension Database {
    static let audienceTags = "SELECT tags FROM audience WHERE job = ?"

    func insertAudience(_ tags: String, of job: Int64) throws {
        try self.run("INSERT INTO audience(job, tags) VALUES (?, ?)", [job, tags])
    }
}

extension SQLiteStore {
    func wholeExpression(of job: Int64) async throws -> TagExpression {
        let lines: String? = try await self.read(size: .long) { try $0.value(Database.audienceTags, [job]) }
        guard let lines else { throw StoreError(.corrupt, "a job's audience is missing") }
        // Parsed outside of the transaction.
        let tags = try lines.utf8.split(separator: UInt8(ascii: "\n")).map { try Tag(stored: String($0) ?? "") }
        guard !tags.isEmpty else { throw StoreError(.corrupt, "a job's audience names nobody") }
        return .any(tags)
    }
}
