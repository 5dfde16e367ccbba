package import PushModel
package import Store
import Testing

extension Scenario {
    /// Removes until nothing is left, and counts the rows; each chunk in a store of its own, as after a crash.
    package static func clean(
        _ kind: Retained,
        olderThan age: Duration,
        limit: Int,
        in another: () throws -> any ResultStore
    ) async throws -> Int {
        var (removed, cursor, chunks) = (0, Int64(0), 0)
        while true {
            let chunk = try await another().perform(.remove(kind, olderThan: age, after: cursor), limit: limit)
            // Few rows may go beyond the limit: a job's own go together.
            #expect(chunk.rows <= limit + 16)
            removed += chunk.rows
            chunks += 1
            guard let next = chunk.next, chunks < 1000 else { break }
            cursor = next
        }
        return removed
    }

    /// A send to so many devices, all of which fail.
    package func failed(
        _ devices: Int,
        pages: Int = 10,
        tag: String = "t",
        key: String? = nil
    ) async throws -> Job {
        for number in 0..<devices {
            try await self.register(user: "u\(tag)\(number)", handle: "aa\(tag)\(number)", tags: [tag])
        }
        let new = NewJob(
            app: .default,
            work: .send(try self.campaign(to: tag)),
            lifetime: .seconds(3600),
            idempotency: key.map { .init(caller: "c", route: "r", key: $0, hash: [1]) }
        )
        let job = try await self.accept(new)
        for (page, key) in try await self.fanOut(job, pages: pages).enumerated() {
            let size = min(pages, devices - page * pages)
            let failures = (0..<size).map {
                DeviceFailure(row: Int64(page * pages + $0 + 1), failure: .rejected, status: 400, reason: "Bad")
            }
            _ = try await self.record(BatchOutcome(key: key, failures: failures, at: self.time.wall))
        }
        return job
    }

    /// A send of two batches, one of which has a device to retry, and one that failed.
    package func partlyDone() async throws -> Job {
        for number in 0..<6 {
            try await self.register(user: "u\(number)", handle: "aa\(number)", tags: ["t"])
        }
        let job = try await self.accept(self.campaign(to: "t"))
        let keys = try await self.fanOut(job, pages: 3)
        let failure = DeviceFailure(row: 1, failure: .rejected, status: 400, reason: "Bad")
        let retry = RetryDevice(row: 2, tries: 1, wait: .zero)
        let first = BatchOutcome(key: keys[0], accepted: 1, failures: [failure], retries: [retry], at: self.time.wall)
        _ = try await self.record(first)
        _ = try await self.record(BatchOutcome(key: keys[1], accepted: 3, at: self.time.wall))
        return job
    }

    /// Has the device of such a send that is to be retried accepted.
    package func finish(partlyDone job: Job) async throws {
        let key = BatchKey(job: job.id, pns: .apns, page: 0, attempt: 1)
        #expect(try await self.record(BatchOutcome(key: key, accepted: 1, at: self.time.wall)))
    }
}
