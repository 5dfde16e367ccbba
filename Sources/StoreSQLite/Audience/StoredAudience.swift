import GRDB
import PushModel
import Store
import StoreKit

// Audiences of many tags are stored beside their jobs, so that lists of jobs do not read 20,000 names.

extension Database {
    static let audienceTags = "SELECT tags FROM audience WHERE job = ?"

    /// Stores the whole audience of a new job whose work has only the first tags.
    func insertAudience(of work: Job.Work, job: Int64) throws {
        guard case .send(let send) = work, send.preview.truncatedTags > 0, let tags = send.audience.alternatives
        else { return }
        let lines = tags.map(\.name).joined(separator: "\n")
        try self.run("INSERT INTO audience(job, tags) VALUES (?, ?)", [job, lines])
    }
}

extension SQLiteStore {
    /// The send with its whole audience.
    ///
    /// - Parameters:
    ///   - request: The send as stored in the job.
    ///   - job: The job's sequence.
    /// - Returns: The send as it was accepted.
    /// - Throws: ``StoreError``.
    func whole(_ request: SendRequest, job: Int64) async throws -> SendRequest {
        // A hub over a wire has the expression in its calls.
        guard request.truncatedTags > 0, request.audience.expression != nil else { return request }
        let lines: String? = try await self.read { try $0.value(Database.audienceTags, [job]) }
        guard let lines else { throw StoreError(.corrupt, "a job's audience is missing") }
        // Parsed outside of the transaction.
        let tags = try lines.utf8.split(separator: UInt8(ascii: "\n")).map { try Tag(stored: String($0) ?? "") }
        guard !tags.isEmpty else { throw StoreError(.corrupt, "a job's audience names nobody") }
        return request.with(audience: .tags(.any(tags)))
    }
}
