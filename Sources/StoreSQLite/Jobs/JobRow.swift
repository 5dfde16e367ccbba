import PushModel
import StoreKit
import StoreSQL

extension Database {
    func jobRow(_ id: JobID, app: AppID? = nil) throws -> JobRow? {
        try self.answer(JobTable.row(id, app: app)).rows.first.map { try JobRow($0) }
    }

    func jobRow(sequence: Int64) throws -> JobRow? {
        try self.answer(JobTable.rows("job.sequence = \(sequence)")).rows.first.map { try JobRow($0) }
    }
}
