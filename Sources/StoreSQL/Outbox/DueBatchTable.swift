package import PushModel
package import Store
import StoreKit

extension SQLEngine {
    /// The open batches of a delivery message, in every form.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - unreadable: Is told of each that cannot be read, and its job's id if that can: the job ends with its expiry, and the others go on.
    /// - Returns: The batches, by job.
    /// - Throws: ``StoreError``.
    package func dueBatches(
        of message: MessageID,
        unreadable: (StoreError, JobID?) -> Void
    ) async throws -> [DueBatch] {
        let now = self.clock.now
        let rows = try await self.rows(
            """
            SELECT job, pns, page, attempt, from_id, to_id, due, retries, template FROM batch
            WHERE message = \(message.number) AND open = 1
            UNION ALL SELECT sequence, inline_pns, 0, 0, 0, inline_to, NULL, NULL, NULL FROM job
            WHERE \(JobTable.isInline(in: message))
            ORDER BY 1, 2, 3, 4
            """
        )
        let jobs = Set(try rows.map { try $0["job"] as Int64 })
        let found = try await self.rows([
            JobTable.rows("job.sequence IN (\(numbers: Array(jobs)))"),
            .templates(Set(try rows.compactMap { try $0["template"] as Int64? })),
        ])
        let templates = try DeviceTemplate.Content.stored(found[1])
        var sends: [Int64: (job: Job, request: SendRequest)] = [:]
        for row in found[0] {
            do {
                let job = try JobRow(row).plain
                if case .send(let request) = job.work { sends[job.sequence] = (job, request) }
            } catch let error as StoreError { unreadable(error, try? row["id"]) }
        }
        var batches: [DueBatch] = []
        for row in rows {
            guard let send = try sends[row["job"]] else { continue }
            do {
                batches.append(try DueBatch(row, of: send, templates: templates, at: now))
            } catch let error as StoreError { unreadable(error, send.job.id) }
        }
        return batches
    }
}

extension DueBatch {
    fileprivate init(
        _ row: SQLRow,
        of send: (job: Job, request: SendRequest),
        templates: [Int64: DeviceTemplate.Content],
        at now: Int64
    ) throws {
        let retries = try (row["retries"] as [UInt8]?).map(RetryList.decode) ?? []
        let overdue = Duration.milliseconds(now.clampedSubtracting(try row["due"] ?? now))
        let template: Int64? = try row["template"]
        self.init(
            key: BatchKey(
                job: send.job.id,
                pns: try PushService(stored: row["pns"]),
                page: try row["page"],
                attempt: try row["attempt"]
            ),
            job: send.job,
            request: send.request,
            from: try row["from_id"],
            to: try row["to_id"],
            retries: retries.map {
                RetryDevice(row: $0.row, tries: $0.tries, wait: max(.zero, $0.wait - overdue))
            },
            template: template,
            content: template.flatMap { templates[$0] }
        )
    }
}
