import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: RegistrationStore {
    package func change(
        _ request: RegisterRequest,
        app: AppID,
        user: UserName?,
        sequence: Int64,
        expires: Timestamp?,
        most: Int?
    ) async throws -> RegisterResult {
        if case .removeUser = request {
            while true {
                if let result = try await self.removeUser(by: sequence) { return result }
            }
        }
        return try await self.write { context in
            // Its worker may have been halted since it read the job, and released handles are remembered only as long
            // as jobs live.
            guard try !context.database.isOver(sequence, at: context.now) else {
                return .refused("its time is over")
            }
            let onBehalf = request.onBehalf
            let number = try context.database.ensureNumber(of: app)
            let subject = onBehalf.map(\.user) ?? user
            guard try !context.isRemoved(subject, app: number, after: sequence) else {
                return .refused(UserRemoval.words)
            }
            let change = RegistrationChange(
                context: context,
                app: number,
                user: subject,
                sequence: sequence,
                expires: expires,
                most: most,
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

    package func registration(_ id: RegistrationID, app: AppID) async throws -> Registration? {
        try await self.read { database in
            let row = try database.first(
                "SELECT \(RegistrationRow.columns) FROM \(RegistrationRow.source) WHERE app.name = ? AND registration.id = ?",
                [app.name, id.text],
                read: RegistrationRow.init
            )
            return try row?.registration(in: database)
        }
    }

    package func registrations(_ query: RegistrationQuery) async throws -> Page<Registration> {
        let after = try self.cursors.open(query.cursor, .registrations, of: query.app) ?? 0
        let (mask, cursors) = (self.configuration.digestMask, self.cursors)
        return try await self.read(size: .long) { database in
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
                    id: $0[0] as Int64, row: $0[1] as Int64, handle: $0[2] as String, before: $0[3] as Int64,
                    reason: $0[4] as String, credential: $0[5] as Int64
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

    package var steadyTime: Timestamp { Timestamp(milliseconds: self.clock.now) }

    func expireRegistrations(limit: Int) async throws -> Int {
        let time = self.clock.cautious.milliseconds
        let sql = """
            SELECT row FROM registration WHERE state = 1 AND expires IS NOT NULL AND expires <= ? ORDER BY expires LIMIT ?
            """
        let released = self.clock.now - ReleasedHandle.life
        let dead = self.clock.cautious.milliseconds - ReleasedHandle.life
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
                try context.forgetReleased(before: released, limit: limit)
                try context.forgetTombstones(before: released, limit: limit)
                try context.forgetRemovals(before: released, limit: limit)
                try context.forgetDeadWork(before: dead, limit: limit)
                try context.forgetSuspects(before: suspected, limit: limit)
            }
        }
        guard isTime.registrations else { return 0 }
        return try await self.write { context in
            let rows = try context.database.all(sql, [context.clock.cautious.milliseconds, limit]) { $0[0] as Int64 }
            for row in rows { try context.end(row, as: .expired, reason: "not renewed in time", where: "1", []) }
            return rows.count
        }
    }
}

extension WriteContext {
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
        _ arguments: StatementArguments
    ) throws {
        let ended = try self.database.first(
            """
            UPDATE registration SET state = ?, ended_at = ?, ended_reason = ?, template = NULL
            WHERE row = ? AND state = 1 AND \(condition) RETURNING app, pns, handle, version, tags, template_slot
            """,
            [state.number, self.wall.milliseconds, reason, row] + arguments
        ) {
            (
                app: $0[0] as Int64, slot: try RegistrationSlot.stored($0[1], $0[5]),
                handle: ($0[2] as String?).map(Handle.init(stored:)), version: $0[3] as Int64,
                tags: try TagList(stored: $0[4])
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
        registration.row, registration.id, app.name, registration.pns, registration.handle, registration.user,
        registration.state, registration.version, registration.updated, registration.expires, registration.ended_at,
        registration.ended_reason, registration.tags, registration.user_shown,
        (SELECT name FROM credential WHERE credential.number = registration.credential), registration.template_slot,
        (SELECT content FROM template WHERE template.number = registration.template), registration.written
        """
    static let source = "registration JOIN app ON app.number = registration.app"

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
        self.row = row[0]
        self.id = try RegistrationID(stored: row[1])
        self.app = try AppID(stored: row[2])
        self.slot = try RegistrationSlot.stored(row[3], row[15])
        self.handle = (row[4] as String?).map(Handle.init(stored:))
        self.user = try (row[5] as String?).map { try UserName(stored: $0, shown: row[13]) }
        self.state = try Registration.State(number: row[6])
        self.version = row[7]
        self.updated = Timestamp(milliseconds: row[8])
        self.expires = (row[9] as Int64?).map(Timestamp.init(milliseconds:))
        self.ended = (row[10] as Int64?).map {
            Registration.Ended(at: Timestamp(milliseconds: $0), reason: (row[11] as String?) ?? "")
        }
        self.tags = try TagList(stored: row[12])
        self.credential = try (row[14] as String?).map { try CredentialName(stored: $0) } ?? .default
        self.template = try (row[16] as String?).map { try StoredJSON.value(DeviceTemplate.Content.self, from: $0) }
        self.written = try (row[17] as String?).map { try StoredJSON.value(WrittenDevice.self, from: $0) }
    }

    /// The registration's properties that a decision depends on.
    var status: RegistrationDecision.Status {
        RegistrationDecision.Status(state: self.state, version: self.version, user: self.user)
    }

    func registration(in database: Database) throws -> Registration {
        var tags = try self.tags.numbers.compactMap { number in
            try database.first("SELECT coalesce(name_shown, name) FROM tag_name WHERE number = ?", [number]) {
                try Tag(stored: $0[0])
            }
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
