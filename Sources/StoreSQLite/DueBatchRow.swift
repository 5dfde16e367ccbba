import Foundation
import GRDB
import PushModel
import Store
import StoreKit

/// A row of the table `batch` that is to be published.
struct DueBatchRow {
    let job: Int64
    let pns: PNS
    let page: Int
    let attempt: Int
    let from: Int64
    let to: Int64
    let due: Int64
    let carried: Data?
    let size: Int

    init(_ row: Row) throws {
        self.job = row[0]
        self.pns = try PNS(number: row[1])
        self.page = row[2]
        self.attempt = row[3]
        (self.from, self.to) = (row[4], row[5])
        self.due = row[6]
        self.carried = row[7]
        self.size = row[8]
    }

    func batch(job: Job, request: SendRequest, now: Int64) throws -> DueBatch {
        DueBatch(
            key: BatchKey(job: job.id, pns: self.pns, page: self.page, attempt: self.attempt),
            app: job.app,
            job: job,
            request: request,
            from: self.from,
            to: self.to,
            carried: try self.carried.map(CarriedList.decode) ?? [],
            overdue: .milliseconds(now - self.due)
        )
    }
}
