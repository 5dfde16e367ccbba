import Store
import StoreKit
import StoreSQL

/// The calls of hubs over a wire.
enum HubCallSchema {
    static let schema = """
        -- A row a call, by its number in the job's list. until: after this nobody is at it, where it is being made. notification: the
        -- hub's id. outcome and devices: what the hub says became of it. telemetry: whether it says more, of a call that it took. asked: how
        -- often it was. due: when it is again.
        CREATE TABLE hub_call(
            job INTEGER NOT NULL,
            pns INTEGER NOT NULL,
            number INTEGER NOT NULL,
            state TEXT NOT NULL,
            until INTEGER NOT NULL,
            notification TEXT,
            outcome TEXT,
            devices TEXT,
            telemetry TEXT,
            asked INTEGER NOT NULL DEFAULT 0,
            due INTEGER,
            PRIMARY KEY (job, pns, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX hub_call_due ON hub_call(due) WHERE due IS NOT NULL;
        """
}

extension WriteContext {
    /// What became of the calls of a stopped job.
    ///
    /// - Parameters:
    ///   - job: The job's number.
    ///   - pns: The service's number.
    ///   - from: Behind which number a page begins.
    ///   - to: Its last number.
    /// - Returns: By their numbers those that the hub took, that are unknown, or that are under way.
    /// - Throws: ``StoreError`` for a malformed row; SQLite's error.
    func calls(of job: Int64, pns: Int, from: Int64, to: Int64) throws -> [Int64: HubCallStart] {
        let range = HubCallTable.range(job, pns, from: from, to: to)
        let rows = try self.database.answer("SELECT number, state, until FROM hub_call WHERE \(range)").rows
        if !rows.isEmpty { _ = try self.database.answer(HubCallTable.endOverdue(range, now: self.now)) }
        return try HubCallTable.known(rows, at: self.now)
    }
}
