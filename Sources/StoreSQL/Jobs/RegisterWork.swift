import StoreKit

/// Removes the work of final register jobs: their handles are no longer needed, and their owners may want them
/// forgotten.
///
/// A dead-lettered job may be replayed while its lifetime lasts: the dead letter keeps the work until then.
enum RegisterWork {
    /// The column `work` of a register job, without the handles in it; an engine without this function needs one of that name.
    static let withoutHandles = """
        json_replace(work, '$.register._0.upsert._1.handle', '', '$.register._0.create._1.handle', '',
            '$.register._0.upsert._1.onBehalf.user', NULL, '$.register._0.create._1.onBehalf.user', NULL,
            '$.register._0.install._0.parts', json('[]'), '$.register._0.issue.handles', json('[]'), '$.register._0.removeUser._0', NULL)
        """

    /// Removes the handles of a register job, if that is final.
    static func removal(ofFinal job: Int64) -> SQLStatement {
        "UPDATE job SET work = \(raw: self.withoutHandles) WHERE sequence = \(job) AND finished IS NOT NULL"
    }
}
