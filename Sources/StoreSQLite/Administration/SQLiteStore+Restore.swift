import Foundation
import GRDB
import PushModel
package import Store
package import StoreKit
import StoreSQL

extension SQLiteStore {
    /// Puts a backup where there is no store; blocks the thread.
    ///
    /// The store appears when all is done: a process that ends before has restored nothing.
    ///
    /// - Parameters:
    ///   - file: The backup.
    ///   - path: Where the store shall be; nothing may be there, and no process may have it open.
    ///   - isStopping: Whether the sends that were under way are cancelled.
    ///   - plan: The steps of the schema; a test has some of its own.
    ///   - source: The clocks; the machine's, except in tests.
    ///   - act: The act that it is; its entry is written into the store that is there then.
    /// - Returns: What was under way; nil of a backup that lacks steps of the schema, which is restored as it is.
    /// - Throws: ``StoreError``.
    @discardableResult
    package static func restore(
        _ file: String,
        to path: String,
        stoppingUnfinished isStopping: Bool = false,
        plan: SchemaPlan = Schema.plan,
        source: (any ClockSource)? = nil,
        by act: NewAct? = nil
    ) throws -> UnfinishedSends? {
        do {
            for name in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + name) {
                throw StoreError(.conflict, "\(path)\(name) is there: move it away, with what lies beside it")
            }
            let users = try FileLock(path: path + ".users")
            guard users.tryLock() else {
                throw StoreError(.unavailable, "processes have the store at \(path) open: stop them all")
            }
            defer { users.unlock() }
            let copy = try NewFile(path)
            let found = try Self.copyBackup(file, to: copy.partial, plan)
            guard try Self.isWhole(copy.partial) else {
                throw StoreError(.corrupt, "\(file) is damaged: take another backup")
            }
            let isCurrent = plan.fit(found) == .fits
            guard isCurrent || !isStopping else {
                throw StoreError(
                    .conflict,
                    "\(file) has tables of version \(found.number), and only sends in those of version \(plan.version) can be stopped: restore "
                        + "it as it is, run pushline store migrate and pushline store backup, and restore that backup"
                )
            }
            let unfinished = try Self.settle(copy.partial, source: source ?? SystemClock()) { context in
                try Schema.record(act, in: context.database, of: found)
                return isCurrent ? try context.settleUnfinished(isStopping: isStopping) : nil
            }
            try copy.finish()
            return unfinished
        } catch let error as DatabaseError {
            throw Self.fault(error, copying: file, to: path)
        }
    }

    /// - Returns: What the backup says of its tables.
    private static func copyBackup(_ file: String, to partial: String, _ plan: SchemaPlan) throws -> SchemaVersion {
        var settings = GRDB.Configuration()
        settings.readonly = true
        return try DatabaseQueue(path: file, configuration: settings).inDatabase { database in
            guard case .version(let found) = try Schema.found(in: Database(database)) else {
                throw StoreError(.corrupt, "\(file) is not a backup of a store: pushline store backup writes one")
            }
            // An older one is restored as it is: steps lead from there.
            if plan.fit(found) == .ahead { try Self.check(.version(found), plan) }
            try database.execute(sql: "VACUUM INTO ?", arguments: [partial])
            return found
        }
    }

    /// Makes a copy ready to be worked on where no process, and no broker, knows anything of it.
    ///
    /// - Parameters:
    ///   - copy: Its path.
    ///   - source: The clocks.
    ///   - count: Counts what is under way, and may stop it.
    /// - Returns: What was counted.
    /// - Throws: ``StoreError``, or the database's error.
    private static func settle(
        _ copy: String,
        source: any ClockSource,
        count: (WriteContext) throws -> UnfinishedSends?
    ) throws -> UnfinishedSends? {
        try Self.connection(copy).inDatabase { connection in
            var unfinished: UnfinishedSends?
            try Database(connection).writing { database in
                let context = WriteContext(
                    database: database,
                    clock: try StoreClock.anchor(source, in: database),
                    digest: try database.handleDigest(mask: .max),
                    counts: Counts()
                )
                unfinished = try count(context)
                try context.makeDue()
            }
            return unfinished
        }
    }
}

extension WriteContext {
    /// Counts the sends that are under way in a restored store, and ends them where that is wanted.
    fileprivate func settleUnfinished(isStopping: Bool) throws -> UnfinishedSends {
        var unfinished = UnfinishedSends()
        for row in try self.database.answer(self.unfinishedSends).rows {
            if try row["is_ahead"] {
                unfinished.scheduled += 1
                continue
            }
            unfinished.sends += 1
            unfinished.devices += try row["devices"]
            if try row["is_looking_up"] { unfinished.lookingUp += 1 }
            guard isStopping else { continue }
            let job: Int64 = try row["sequence"]
            // No worker has any of its batches, whenever it was stopped: nobody else would record what became of them.
            for reason in [StopReason.cancel, .sweep(overdue: .max)] {
                _ = try self.end(JobStops.stop("\(numbers: [job])", reason, clock: self.clock))
            }
            _ = try self.database.answer("UPDATE job SET reason = \(Self.stopReason) WHERE sequence = \(job)")
        }
        return unfinished
    }

    /// What was at a broker is at none any more: it is not to wait for its lease, which is 45 min of a delivery message (rule 1).
    ///
    /// Its tables may lack steps: those of version 1 have these columns.
    fileprivate func makeDue() throws {
        let published: SQLStatement = "state = \(raw: "\(MessageState.published.rawValue)")"
        _ = try self.database.answer("UPDATE message SET due = \(self.now) WHERE \(published) AND due > \(self.now)")
    }

    private static let stopReason = "a backup was restored, and what was unfinished in it was stopped"

    /// Sends that are neither final nor being stopped, and whose time is not over.
    private var unfinishedSends: SQLStatement {
        let isScheduled: SQLStatement = "state = \(raw: "\(Job.State.scheduled.number)")"
        return """
            SELECT sequence, \(isScheduled) AND starts_at > \(self.wall) AS is_ahead,
                fanned_out = 0 AND NOT EXISTS (SELECT 1 FROM recipient WHERE recipient.job = sequence) AS is_looking_up,
                coalesce(inline_size, 0) + (SELECT coalesce(sum(size), 0) FROM batch WHERE batch.job = sequence AND open = 1) + (
                    SELECT count(*) FROM recipient WHERE recipient.job = sequence AND fanned_out = 0 AND number > coalesce(
                        (SELECT after FROM cursor WHERE cursor.job = sequence AND cursor.pns = recipient.pns), 0)) AS devices
            FROM job WHERE finished IS NULL AND stopped IS NULL AND kind = \(raw: "\(JobKind.send.number)")
                AND CASE WHEN \(isScheduled) THEN expires > \(self.wall) ELSE ends > \(self.now) END
            """
    }
}
