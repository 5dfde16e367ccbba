import PushModel
import StoreKit
import StoreSQL

extension JobRow {
    /// The job for display.
    func job(in database: Database, clock: StoreClock) throws -> Job {
        try JobTable.job(self, JobTable.details(of: self).map { try database.answer($0).rows }, clock: clock)
    }
}

extension Database {
    func jobRow(_ id: JobID, app: AppID? = nil) throws -> JobRow? {
        try self.answer(JobTable.row(id, app: app)).rows.first.map { try JobRow($0) }
    }

    func jobRow(sequence: Int64) throws -> JobRow? {
        try self.answer(JobTable.rows("job.sequence = \(sequence)")).rows.first.map { try JobRow($0) }
    }
}
