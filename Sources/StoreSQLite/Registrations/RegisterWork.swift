import GRDB

/// Removes the work of final register jobs: their handles are no longer needed, and their owners may want them
/// forgotten.
///
/// A dead-lettered job may be replayed while its lifetime lasts: the dead letter keeps the work until then.
enum RegisterWork {
    /// The column `work` of a register job, without the handles in it.
    static let withoutHandles = """
        json_replace(work, '$.register._0.upsert._1.handle', '', '$.register._0.issue.handles', json('[]'))
        """
}

extension WriteContext {
    /// Keeps the work of a register job with its dead message, before the job forgets it.
    func keepWork(of job: Int64, letter: Int64) throws {
        try self.database.run(
            "UPDATE dead SET work = (SELECT work FROM job WHERE sequence = ?) WHERE id = ?",
            [job, letter]
        )
    }

    /// Forgets the handles of a register job that is final.
    func forgetHandles(ofFinal job: Int64) throws {
        try self.database.run(
            "UPDATE job SET work = \(RegisterWork.withoutHandles) WHERE sequence = ? AND finished IS NOT NULL",
            [job]
        )
    }

    /// Forgets the work of register jobs dead-lettered before that time, whose lifetimes are over.
    func forgetDeadWork(before time: Int64, limit: Int) throws {
        try self.database.run(
            """
            UPDATE dead SET work = NULL WHERE id IN (
                SELECT id FROM dead WHERE work IS NOT NULL AND at <= ? ORDER BY at LIMIT ?)
            """,
            [time, limit]
        )
    }
}
