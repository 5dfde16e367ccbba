package import PushModel
package import Store
import StoreKit

extension SQLiteStore: RegistrationStore {
    package func register(_ request: RegisterRequest, of job: RegisterJob) async throws -> RegisterResult? {
        if case .removeUser = request { return try await self.removeUser(by: job.sequence) }
        return try await self.write { context in
            let sequence = job.sequence
            // Its worker may have been halted since it read the job, and released handles are remembered only as long
            // as jobs live.
            guard try !context.database.isOver(sequence, at: context.now) else {
                return .refused("its time is over")
            }
            let onBehalf = request.onBehalf
            let number = try context.database.ensureNumber(of: job.app)
            let subject = onBehalf.map(\.user) ?? job.user
            // Changes and the acceptance of a removal come one after the other. With a second writer each change would have to lock its user
            // against a removal, and a removal against all of them.
            guard try !context.isRemoved(subject, app: number, after: sequence) else {
                return .refused(UserRemoval.words)
            }
            let change = RegistrationChange(
                context: context,
                app: number,
                user: subject,
                sequence: sequence,
                expires: request.expires(within: job.lifetime, from: Timestamp(milliseconds: context.now)),
                most: job.most,
                authority: onBehalf == nil ? .owner : .app
            )
            switch request {
            case .issue(let candidate, let handles): return try change.issue(candidate, handles: handles)
            case .upsert(let id, let upsert): return try change.upsert(id, upsert)
            case .delete(let id): return try change.delete(id)
            case .create(let candidate, let upsert):
                return try context.applyOnce(sequence) { try change.create(candidate, upsert) }
            case .install(let installation):
                return try context.applyOnce(sequence) { try change.install(installation) }
            case .patch(let id, let patch): return try context.applyOnce(sequence) { try change.patch(id, patch) }
            case .removeUser: throw StoreError(.corrupt, "a removal is done in parts")
            case .channel: throw StoreError(.corrupt, "channels are Apple's, and no registrations")
            }
        }
    }

    package func registrations(_ query: RegistrationQuery) async throws -> Page<Registration> {
        let after = try self.cursors.open(query.cursor, .registrations, of: query.app) ?? 0
        let (mask, cursors) = (self.configuration.digestMask, self.cursors)
        return try await self.read(size: query.id == nil ? .long : .ordinary) { database in
            guard let app = try database.number(of: query.app) else { return Page(items: [], cursor: nil) }
            let limit = min(max(1, query.limit), 1000)
            let ranges = try RegistrationRanges(
                query,
                app: app,
                after: after,
                limit: limit + 1,
                mask: mask,
                in: database
            )
            guard let (sql, arguments) = ranges.union else { return Page(items: [], cursor: nil) }
            let rows = try database.all(
                """
                SELECT \(RegistrationRow.columns) FROM \(RegistrationRow.source)
                WHERE registration.row IN (\(sql)) ORDER BY registration.row LIMIT ?
                """,
                arguments + [limit + 1],
                read: RegistrationRow.init
            )
            // Each tag is looked up: what has many ends a page early.
            var (tags, fitting) = (0, 0)
            for row in rows {
                tags += row.tags.numbers.count
                guard tags <= Self.tagsAPage || fitting == 0 else { break }
                fitting += 1
            }
            return try Page(
                rows,
                limit: min(limit, fitting),
                cursor: { cursors.seal($0.row, .registrations, of: query.app) },
                item: { try $0.registration(in: database) }
            )
        }
    }

    /// The most tags of a page of registrations, unless one has more.
    private static let tagsAPage = 60_000

    func prune(limit: Int) async throws -> Int {
        guard try await self.read({ try $0.exists("SELECT 1 FROM dead_handle LIMIT 1") }) else { return 0 }
        return try await self.write { context in
            let marks = try context.database.all(
                "SELECT id, row, handle, before, reason, credential FROM dead_handle ORDER BY id LIMIT ?",
                [limit]
            ) {
                (
                    id: $0["id"] as Int64, row: $0["row"] as Int64, handle: $0["handle"] as String,
                    before: $0["before"] as Int64, reason: $0["reason"] as String, credential: $0["credential"] as Int64
                )
            }
            for mark in marks {
                try context.end(
                    mark.row,
                    as: .pruned,
                    reason: mark.reason,
                    where: "handle = ? AND updated < ? AND IFNULL(credential, 0) = ?",
                    [mark.handle, mark.before, mark.credential]
                )
                try context.database.run("DELETE FROM dead_handle WHERE id = ?", [mark.id])
            }
            return marks.count
        }
    }

    func expireRegistrations(limit: Int) async throws -> Int {
        let time = self.clock.cautious.milliseconds
        let sql = """
            SELECT row FROM registration WHERE \(RegistrationRow.isLive) AND expires IS NOT NULL
                AND expires <= ? ORDER BY expires LIMIT ?
            """
        let released = self.clock.now - ReleasedHandle.life.milliseconds
        let dead = self.clock.cautious.milliseconds - ReleasedHandle.life.milliseconds
        let suspected = self.clock.now - 86_400_000
        let now = self.clock.now
        let isTime = try await self.read { database in
            try (
                registrations: database.exists(sql, [time, 1]),
                traces: database.exists("SELECT 1 FROM released_handle WHERE at <= ? LIMIT 1", [released])
                    || database.exists("SELECT 1 FROM tombstone WHERE at <= ? LIMIT 1", [released])
                    || database.exists("SELECT 1 FROM removed_user WHERE at <= ? LIMIT 1", [released])
                    || database.exists(UserRemovalTables.isOver, [now, 1])
                    || database.exists("SELECT 1 FROM suspect WHERE at <= ? LIMIT 1", [suspected])
                    || database.exists("SELECT 1 FROM dead WHERE work IS NOT NULL AND at <= ? LIMIT 1", [dead])
            )
        }
        if isTime.traces {
            try await self.write { context in
                try context.forget("released_handle", key: "app, pns, handle", before: released, limit: limit)
                try context.forget("tombstone", key: "app, id, user", before: released, limit: limit)
                try context.forgetRemovals(before: released, limit: limit)
                try context.forgetDeadWork(before: dead, limit: limit)
                try context.forget("suspect", key: "fingerprint", before: suspected, limit: limit)
            }
        }
        guard isTime.registrations else { return 0 }
        return try await self.write { context in
            let rows: [Int64] = try context.database.values(sql, [context.clock.cautious.milliseconds, limit])
            for row in rows { try context.end(row, as: .expired, reason: "not renewed in time", where: "1", []) }
            return rows.count
        }
    }
}

extension WriteContext {
    /// Removes what was noted before that time, the oldest first.
    fileprivate func forget(_ table: String, key: String, before time: Int64, limit: Int) throws {
        try self.database.run(
            "DELETE FROM \(table) WHERE (\(key)) IN (SELECT \(key) FROM \(table) WHERE at <= ? ORDER BY at LIMIT ?)",
            [time, limit]
        )
    }

    /// Ends a live registration: it gets a time and a reason, leaves all audiences, and its handle is released.
    ///
    /// - Parameters:
    ///   - row: The registration.
    ///   - state: The new state.
    ///   - reason: The reason, for operators.
    ///   - condition: A further condition.
    ///   - arguments: The condition's values.
    /// - Throws: SQLite's error.
    func end(
        _ row: Int64,
        as state: Registration.State,
        reason: String,
        where condition: String,
        _ arguments: Database.Values
    ) throws {
        let ended = try self.database.first(
            """
            UPDATE registration SET state = \(state.number), ended_at = ?, ended_reason = ?, template = NULL
            WHERE row = ? AND \(RegistrationRow.isLive) AND \(condition) RETURNING app, pns, handle, version, tags, template_slot
            """,
            [self.wall.milliseconds, reason, row] + arguments
        ) {
            (
                app: $0["app"] as Int64, slot: try RegistrationSlot.stored($0["pns"], $0["template_slot"]),
                handle: ($0["handle"] as String?).map(Handle.init(stored:)), version: $0["version"] as Int64,
                tags: try TagList(stored: $0["tags"])
            )
        }
        guard let ended, let slot = ended.slot else { return }
        if let handle = ended.handle {
            try self.removeHandle(handle, slot, app: ended.app, by: row)
            try self.release(handle, slot, app: ended.app, version: ended.version)
        }
        guard ended.tags != TagList([]) else { return }
        try self.database.removeFromAudiences(row, slot, ended.tags)
        try self.database.run("UPDATE registration SET tags = NULL WHERE row = ?", [row])
    }
}

/// A row of the table `registration`.
struct RegistrationRow {
    static let columns = """
        registration.row, registration.id, app.name AS app, registration.pns, registration.handle, registration.user,
        registration.user_shown, registration.state, registration.version, registration.updated, registration.expires,
        registration.ended_at, registration.ended_reason, registration.tags, registration.template_slot, registration.written,
        (SELECT name FROM credential WHERE credential.number = registration.credential) AS credential,
        (SELECT content FROM template WHERE template.number = registration.template) AS content
        """
    static let source = "registration JOIN app ON app.number = registration.app"
    /// The conditions of the indexes.
    static let isLive = "state = \(Registration.State.live.number)"
    static let hasEnded = "state <> \(Registration.State.live.number)"

    let row: Int64
    let id: RegistrationID
    let app: AppID
    /// nil = its handle was never said.
    let slot: RegistrationSlot?
    let handle: Handle?
    let credential: CredentialName
    let user: UserName?
    let state: Registration.State
    let version: Int64
    let updated: Timestamp
    let expires: Timestamp?
    let ended: Registration.Ended?
    /// Of a live registration, without its user's own.
    let tags: TagList
    /// Of a live registration for one.
    let template: DeviceTemplate.Content?
    let written: WrittenDevice?

    init(_ row: Row) throws {
        self.row = row["row"]
        self.id = try RegistrationID(stored: row["id"])
        self.app = try AppID(stored: row["app"])
        self.slot = try RegistrationSlot.stored(row["pns"], row["template_slot"])
        self.handle = (row["handle"] as String?).map(Handle.init(stored:))
        self.user = try (row["user"] as String?).map { try UserName(stored: $0, shown: row["user_shown"]) }
        self.state = try Registration.State(number: row["state"])
        self.version = row["version"]
        self.updated = Timestamp(milliseconds: row["updated"])
        self.expires = (row["expires"] as Int64?).map(Timestamp.init(milliseconds:))
        self.ended = (row["ended_at"] as Int64?).map {
            Registration.Ended(at: Timestamp(milliseconds: $0), reason: (row["ended_reason"] as String?) ?? "")
        }
        self.tags = try TagList(stored: row["tags"])
        self.credential = try (row["credential"] as String?).map { try CredentialName(stored: $0) } ?? .default
        self.template = try (row["content"] as String?).map {
            try StoredJSON.value(DeviceTemplate.Content.self, from: $0)
        }
        self.written = try (row["written"] as String?).map { try StoredJSON.value(WrittenDevice.self, from: $0) }
    }

    /// The registration's properties that a decision depends on.
    var status: RegistrationDecision.Status {
        RegistrationDecision.Status(state: self.state, version: self.version, user: self.user)
    }

    /// As one that has a handle.
    var asHolder: RegistrationDecision.Holder { RegistrationDecision.Holder(id: self.id, version: self.version) }

    func registration(in database: Database) throws -> Registration {
        var tags = try self.tags.numbers.compactMap { number -> Tag? in
            let name: String? = try database.value(
                "SELECT coalesce(name_shown, name) FROM tag_name WHERE number = ?",
                [number]
            )
            return try name.map(Tag.init(stored:))
        }
        if self.state == .live, let own = self.user.flatMap({ Tag(.user, of: $0) }) { tags.append(own) }
        return Registration(
            row: self.row,
            id: self.id,
            app: self.app,
            user: self.user,
            pns: self.slot?.pns,
            handle: self.handle,
            credential: self.credential,
            tags: tags.sorted(),
            state: self.state,
            updated: self.updated,
            version: self.version,
            expires: self.expires,
            ended: self.ended,
            template: self.slot?.template.flatMap { slot in
                self.template.map { DeviceTemplate(slot: slot, content: $0) }
            },
            written: self.written
        )
    }
}
