import PushModel
import StoreKit
import StoreSQL

/// Counts of devices whose template was registered for another platform than the one its service is shown under: telemetry has
/// those apart.
///
/// They are among the counts of their service too, and nothing but telemetry reads them.
enum PlatformCountTable {
    static let schema = """
        CREATE TABLE platform_count(
            job INTEGER NOT NULL REFERENCES job,
            platform TEXT NOT NULL,
            class INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (job, platform, class)
        ) STRICT, WITHOUT ROWID;
        """
}

extension WriteContext {
    /// Counts the devices of a batch; written once a job and group (rule 14).
    ///
    /// - Parameters:
    ///   - counts: How many of each kind.
    ///   - job: The batch's job.
    ///   - batch: The batch, open or closed.
    /// - Throws: SQLite's error.
    func count(
        _ counts: [DeliveryCountClass: Int],
        of job: Int64,
        in batch: (pns: Int, page: Int, attempt: Int)
    ) throws {
        let platform = try self.platform(of: job, in: batch)
        for (kind, count) in counts { self.count(count, of: kind, job: job, pns: batch.pns, platform: platform) }
    }

    private func platform(of job: Int64, in batch: (pns: Int, page: Int, attempt: Int)) throws -> String? {
        // Of the other services no registration has another.
        guard try WrittenDevice.otherPlatforms[PushService(stored: batch.pns)] != nil else { return nil }
        return try self.database.value(
            """
            SELECT \(OpenBatch.platform) FROM batch JOIN template ON template.number = batch.template
            WHERE batch.job = ? AND batch.pns = ? AND batch.page = ? AND batch.attempt = ?
            """,
            [job, batch.pns, batch.page, batch.attempt]
        )
    }
}
