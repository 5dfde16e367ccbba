import PushModel
import Store
import StoreKit
import StoreSQL

/// What is written of new jobs that have numbers, a statement a table.
struct JobInsertion {
    struct NewRow {
        let sequence: Int64
        let job: NewJob
        let recipients: [Recipient]
        /// As it is stored.
        let work: StoredWork
        let state: Job.State
        /// nil where it starts later.
        let message: Int64?
    }

    /// In the order of their sequences.
    let rows: [NewRow]
    let messages: [(id: Int64, message: JobAdmission.Message)]
    /// The sequence of the first.
    let first: Int64
    /// The app's number.
    let app: Int64
    let now: Int64
    let wall: Timestamp

    /// In the order in which rows are held: messages first.
    var statements: [SQLStatement] {
        var statements = self.joins + self.newMessages
        statements.append(self.jobs)
        if let keys = self.keys { statements.append(keys) }
        let audiences = self.rows.compactMap { row in row.work.audience.map { (row.sequence, $0) } }
        if !audiences.isEmpty {
            let (jobs, tags) = (SQLArray.integers(audiences.map { $0.0 }), SQLArray.texts(audiences.map { $0.1 }))
            statements.append("INSERT INTO audience(job, tags) SELECT * FROM unnest(\(jobs), \(tags))")
        }
        return statements + self.recipients
    }

    /// What all of the store's jobs are counted in: held for the shortest time.
    var sums: [SQLStatement] {
        let counts = Counts()
        for row in self.rows { counts.count(BacklogChange(from: nil, to: row.state)) }
        return counts.writes
    }

    // MARK: Messages

    /// Whoever publishes or claims a message in the meantime takes it away from those that would join it.
    private var joins: [SQLStatement] {
        self.messages.filter { $0.message.joined != nil }.map { id, message in
            let last = message.jobs(from: self.first).upperBound
            let join: SQLStatement = """
                UPDATE message SET open = open + \(message.count), last = greatest(last, \(last))
                WHERE id = \(id) AND epoch = 0 AND state <> \(raw: "\(MessageState.published.rawValue)")
                """
            return join.expecting(1)
        }
    }

    private var newMessages: [SQLStatement] {
        let new = self.messages.filter { $0.message.joined == nil }
        return OutboxRows.messages(
            new.map { id, message in
                (id, NewMessage(message, from: self.first, app: self.app, now: self.now))
            }
        )
    }

    // MARK: Jobs

    private func integers(_ value: (NewRow) -> Int64?) -> SQLArray { .integers(self.rows.map(value)) }

    private func texts(_ value: (NewRow) -> String?) -> SQLArray { .texts(self.rows.map(value)) }

    private var jobs: SQLStatement {
        let columns = [
            self.integers { $0.sequence }, .byteStrings(self.rows.map { Array($0.job.id.bytes) }),
            self.texts { $0.job.user?.key.text }, self.texts { $0.job.user?.shown }, self.texts { $0.job.key },
            self.integers { Int64($0.job.work.kind.number) }, self.integers { Int64($0.job.priority.rank) },
            self.integers { Int64($0.job.work.platformBits) }, self.integers { Int64($0.state.number) },
            self.texts { $0.work.text }, self.integers { $0.message },
            self.integers { $0.job.expires(accepted: self.wall).milliseconds }, self.texts { $0.job.waiter },
            self.integers { $0.job.startsAt?.milliseconds },
            self.integers { $0.state == .scheduled ? nil : self.now + $0.job.lifetime.milliseconds },
            self.texts { $0.job.label?.text }, self.texts { $0.job.request?.stored },
        ]
        return """
            INSERT INTO job(app, accepted, sequence, id, "user", user_shown, key, kind, priority, platforms, state, work, message, expires,
                waiter, starts_at, ends, label, request)
            SELECT \(self.app), \(self.wall), * FROM unnest(\(SQLStatement(joining: columns.map { "\($0)" }, with: ", ")))
            """
    }

    /// In their order, so that two groups with the same keys wait for each other in one order; the second of two finds the first's.
    private var keys: SQLStatement? {
        let keyed = self.rows.compactMap { row in row.job.idempotency.map { (job: row.sequence, key: $0) } }
            .sorted { ($0.key.caller, $0.key.route, $0.key.key) < ($1.key.caller, $1.key.route, $1.key.key) }
        guard !keyed.isEmpty else { return nil }
        return """
            INSERT INTO idempotency(app, created, caller, route, key, hash, job)
            SELECT \(self.app), \(self.wall), * FROM unnest(\(SQLArray.texts(keyed.map { $0.key.caller })),
                \(SQLArray.texts(keyed.map { $0.key.route })), \(SQLArray.texts(keyed.map { $0.key.key })),
                \(SQLArray.byteStrings(keyed.map { $0.key.hash })), \(SQLArray.integers(keyed.map { $0.job })))
            """
    }

    // MARK: Lists

    private var recipients: [SQLStatement] {
        let devices = self.rows.flatMap { row in row.recipients.map { (job: row.sequence, device: $0) } }
        guard !devices.isEmpty else { return [] }
        func name(_ recipient: Recipient) -> String? {
            recipient.credential == .default ? nil : recipient.credential.name
        }
        let jobs = SQLArray.integers(devices.map { $0.job })
        let services = SQLArray.integers(devices.map { Int64($0.device.pns.number) })
        let names = SQLArray.texts(devices.map { name($0.device) })
        let insertion: SQLStatement = """
            INSERT INTO recipient(job, pns, number, handle, reference, credential)
            SELECT device.job, device.pns, device.number, device.handle, device.reference, credential.number
            FROM unnest(\(jobs), \(services), \(SQLArray.integers(devices.map { $0.device.number })),
                \(SQLArray.texts(devices.map { $0.device.handle?.text })), \(SQLArray.texts(devices.map { $0.device.reference })),
                \(names)) AS device(job, pns, number, handle, reference, name)
                LEFT JOIN credential ON credential.app = \(self.app) AND credential.pns = device.pns AND credential.name = device.name
            """
        guard devices.contains(where: { name($0.device) != nil }) else { return [insertion] }
        let apps = SQLArray.integers(devices.map { _ in self.app })
        return [Self.mention(apps: apps, services: services, names: names), insertion]
    }

    /// Gives numbers to credentials that devices name, whether they are declared or not; nil = the default one.
    static func mention(apps: SQLArray, services: SQLArray, names: SQLArray) -> SQLStatement {
        """
        INSERT INTO credential(app, pns, name)
        SELECT DISTINCT device.* FROM unnest(\(apps), \(services), \(names)) AS device(app, pns, name)
        WHERE device.name IS NOT NULL ORDER BY 1, 2, 3 ON CONFLICT (app, pns, name) DO NOTHING
        """
    }
}
