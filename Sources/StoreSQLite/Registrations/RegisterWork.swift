import PushModel
import StoreKit

/// Removes the work of final register jobs: their handles are no longer needed, and their owners may want them
/// forgotten.
///
/// A dead-lettered job may be replayed while its lifetime lasts: the dead letter keeps the work until then.
enum RegisterWork {
    /// The column `work` of a register job, without the handles in it.
    static let withoutHandles = """
        json_replace(work, '$.register._0.upsert._1.handle', '', '$.register._0.create._1.handle', '',
            '$.register._0.upsert._1.onBehalf.user', NULL, '$.register._0.create._1.onBehalf.user', NULL,
            '$.register._0.install._0.parts', json('[]'), '$.register._0.issue.handles', json('[]'), '$.register._0.removeUser._0', NULL)
        """
}

extension WriteContext {
    /// The result of a register job; nil while it was not applied, or where it may be applied again.
    func result(ofRegister sequence: Int64) throws -> RegisterResult? {
        let text: String? = try self.database.value("SELECT result FROM job WHERE sequence = ?", [sequence])
        return try text.map { try StoredJSON.value(RegisterResult.self, from: $0) }
    }

    /// Keeps the work of a register job with its dead letter, before the job forgets it.
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
}
