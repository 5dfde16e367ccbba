import PushModel
package import Store
import StoreKit
import StoreSQL

/// The lists of sends that name their devices one by one, and the calls of those that go to a hub over a wire.
///
/// A list is written with its job and read by ranges of numbers, as registrations are by rows. It goes soon after the job is
/// final, because a handle lets its reader send to the device.
enum RecipientTable {
    static let schema = """
        -- number: a registration's row, or a place in the list (Recipient). No foreign keys: each would cost a look-up a row; the
        -- store's check does it.
        CREATE TABLE recipient(
            job INTEGER NOT NULL,
            pns INTEGER NOT NULL,
            number INTEGER NOT NULL,
            handle TEXT,
            -- Of a handle, as in registration.
            credential INTEGER,
            reference TEXT,
            PRIMARY KEY (job, pns, number)
        ) STRICT, WITHOUT ROWID;
        """

    /// The devices of a range.
    static let page = """
        SELECT \(ListedDevice.address) FROM \(ListedDevice.source)
        WHERE t.job = ?1 AND t.pns = ?2 AND t.number > ?3 AND t.number <= ?4 AND \(ListedDevice.isThere) ORDER BY t.number LIMIT ?5
        """

    /// All devices.
    static let all = """
        SELECT t.pns, \(ListedDevice.address) FROM \(ListedDevice.source)
        WHERE t.job = ?1 AND \(ListedDevice.isThere) ORDER BY t.pns, t.number
        """

    static let insert = RowInsert("recipient(job, pns, number, handle, reference, credential)", most: 16)
}

extension SQLiteStore {
    /// The devices of a job's list.
    package func recipients(_ query: AudienceQuery) async throws -> AudiencePage {
        var page = AudiencePage(scannedThrough: query.through)
        guard case .recipients(let job) = query.subject else { return page }
        var (after, through, limit) = (query.after, query.through, query.limit)
        // Rows that are asked for are of one batch.
        let wanted = query.rows.map(Set.init)
        if let wanted {
            guard let first = wanted.min(), let last = wanted.max() else { return page }
            (after, through, limit) = (first - 1, last, .max)
        }
        let (first, last, most, empty) = (after, through, limit, page)
        page = try await self.read { database in
            let statement = try PreparedStatement(RecipientTable.page, in: database)
            defer { statement.reset() }
            try statement.restart(job, Int64(query.pns.number), first, last, Int64(most))
            var page = empty
            var devices = DeviceColumns(statement, in: database)
            while try statement.step() {
                if wanted?.contains(devices.present) != false { try devices.append(to: &page) }
            }
            return page
        }
        if page.rows.count == limit, let last = page.rows.last { page.scannedThrough = last }
        return page
    }
}

extension WriteContext {
    /// Writes the list of a new job.
    func insert(_ recipients: [Recipient], of job: Int64, app: Int64) throws {
        try RecipientTable.insert.insert(recipients, into: self.database) { statement, index, recipient in
            let credential = try self.database.ensureNumber(of: recipient.credential, recipient.pns, app: app)
            let (target, reference) = (recipient.target?.stored, recipient.reference)
            try statement.bind(
                [job, recipient.pns.number, recipient.number, target, reference, credential],
                from: index
            )
        }
    }

    /// The registration that a dead handle is pruned from; nil where no registration has it.
    func row(of dead: DeadHandle, _ pns: PushService, app: Int64) throws -> Int64? {
        guard Recipient.place(of: dead.row) != nil else { return dead.row }
        let holder = self.registrations(of: app).holder(of: dead.handle, pns)
        return try self.database.answer(holder).rows.first?["row"]
    }
}
