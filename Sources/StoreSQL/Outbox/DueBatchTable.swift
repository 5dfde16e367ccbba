package import PushModel
package import Store
import StoreKit

extension SQLEngine {
    /// The open batches of a delivery message, in every form.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - unreadable: Is told of each that cannot be read, and its job if that can: the job ends with its expiry, and the others go on.
    /// - Returns: The batches, by job.
    /// - Throws: ``StoreError``.
    package func dueBatches(
        of message: MessageID,
        unreadable: (StoreError, JobTrace?) -> Void
    ) async throws -> [DueBatch] {
        let now = self.clock.now
        let rows = try await self.rows("\(OpenBatch.ofMessage(message.number)) ORDER BY 1, 2, 3, 4")
        let jobs = Set(try rows.map { try $0["job"] as Int64 })
        let (found, contents) = try await self.rows(
            JobTable.rows("job.sequence IN (\(numbers: Array(jobs)))"),
            .templates(Set(try rows.compactMap { try $0["template"] as Int64? }))
        )
        let templates = try DeviceTemplate.Content.stored(contents)
        var sends: [Int64: (job: Job, request: SendRequest)] = [:]
        for row in found {
            do {
                let job = try JobRow(row).plain
                if case .send(let request) = job.work { sends[job.sequence] = (job, request) }
            } catch let error as StoreError { unreadable(error, try? JobTrace(row)) }
        }
        var batches: [DueBatch] = []
        for row in rows {
            guard let send = try sends[row["job"]] else { continue }
            do {
                batches.append(try DueBatch(row, of: send, templates: templates, at: now))
            } catch let error as StoreError { unreadable(error, send.job.trace) }
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
        let batch = try OpenBatch(row)
        let retries = try batch.retries.map(RetryList.decode) ?? []
        let overdue = Duration.milliseconds(now.clampedSubtracting(batch.due ?? now))
        self.init(
            key: BatchKey(
                job: send.job.id,
                pns: try PushService(stored: batch.key.pns),
                page: batch.key.page,
                attempt: batch.key.attempt
            ),
            job: send.job,
            request: send.request,
            from: batch.rows.from,
            to: batch.rows.to,
            retries: retries.map {
                RetryDevice(row: $0.row, tries: $0.tries, wait: max(.zero, $0.wait - overdue))
            },
            template: batch.template,
            content: batch.template.flatMap { templates[$0] }
        )
    }
}
