import PushModel
import StoreKit

// The statements that make registrations what a change wants them to be.
extension RegistrationTable {
    func statements(for change: RegistrationChange) -> [SQLStatement] {
        var writes = self.statements(for: change.changes)
        writes += change.released.map(self.release)
        writes += change.hidden.compactMap(self.hide)
        let terms = change.terms
        if let id = change.deleted {
            writes += self.remember(deletionOf: id, by: terms.user, version: terms.sequence, most: terms.most)
        }
        let new = change.changes.count { $0.before == nil }
        if new > 0, let user = terms.user, let most = terms.most {
            writes.append(Self.forgetOldest(of: user, app: self.app, most: most, new: new, now: self.clock.now))
        }
        return writes
    }

    /// What leaves goes first, so that no two have a handle at a time.
    func statements(
        for changes: [(before: KeptRegistration?, after: KeptRegistration)]
    ) -> [SQLStatement] {
        var (writes, additions) = ([SQLStatement](), [SQLStatement]())
        if let yielding = self.yielding(in: changes) { writes.append(yielding) }
        for (before, after) in changes {
            writes += self.mentions(after, unless: before)
            if let before {
                if let update = self.update(before, to: after) { writes.append(update.expecting(1)) }
            } else {
                additions.append(self.insertion(of: after).expecting(1))
            }
            let (old, new) = (before.flatMap(self.entry), self.entry(of: after))
            if let old, old != new, let row = before?.row { writes += HandleTable.remove(old, of: row) }
            if let new, old != new { additions.append(HandleTable.add(new, to: self.row(of: after))) }
            // The audience has the slot before the row.
            let (had, has) = (before?.audiences ?? [:], after.audiences)
            for (slot, tags) in had {
                let left = tags.subtracting(has[slot] ?? [])
                if !left.isEmpty, let row = before?.row { writes.append(Self.leave(left, slot, row)) }
            }
            for (slot, tags) in has {
                let joined = tags.subtracting(had[slot] ?? [])
                if !joined.isEmpty { additions.append(self.join(joined, slot, self.row(of: after))) }
            }
        }
        return writes + additions
    }

    /// Ends a live registration, and releases its handle.
    func end(
        _ registration: KeptRegistration,
        as state: Registration.State,
        _ ended: Registration.Ended
    ) -> [SQLStatement] {
        var after = registration
        after.end(as: state, ended)
        return self.statements(for: [(registration, after)])
            + [registration.released].compactMap { $0 }.map(self.release)
    }

    /// Remembers the latest change that claimed a handle, after its registration lost it (rule 11).
    private func release(_ handle: ReleasedHandle, version: Int64) -> SQLStatement {
        """
        INSERT INTO released_handle(app, pns, handle, version, at)
        VALUES (\(self.app), \(handle.slot), \(handle.digest), \(version), \(self.clock.now))
        ON CONFLICT (app, pns, handle) DO UPDATE SET at = excluded.at,
            version = CASE WHEN excluded.version > released_handle.version THEN excluded.version ELSE released_handle.version END
        """
    }

    /// Remembers the deletion of an id without a registration, for as long as an earlier change may arrive: it neither creates the
    /// registration nor takes it over (rule 11).
    ///
    /// A user's stops that user's changes alone; so of those only the latest are kept, where there is a limit.
    func remember(deletionOf id: RegistrationID, by user: UserName?, version: Int64, most: Int?) -> [SQLStatement] {
        let name = user?.key.text ?? ""
        let tombstone: SQLStatement = """
            INSERT INTO tombstone(app, id, "user", version, at) VALUES (\(self.app), \(id.text), \(name), \(version), \(self.clock.now))
            ON CONFLICT (app, id, "user") DO UPDATE SET at = excluded.at,
                version = CASE WHEN excluded.version > tombstone.version THEN excluded.version ELSE tombstone.version END
            """
        guard user != nil, let most else { return [tombstone] }
        let own: SQLStatement = "app = \(self.app) AND \"user\" = \(name)"
        return [
            tombstone,
            """
            DELETE FROM tombstone WHERE \(own)
                AND version <= (SELECT version FROM tombstone WHERE \(own) ORDER BY version DESC LIMIT 1 OFFSET \(most))
            """,
        ]
    }

    /// Takes the user from a registration, if that was removed after its last change.
    private func hide(_ one: KeptRegistration) -> SQLStatement? {
        guard let user = one.user, let row = one.row else { return nil }
        return """
            UPDATE registration SET "user" = NULL, user_shown = NULL, handle = NULL, written = NULL
            WHERE "row" = \(row) AND EXISTS (\(self.removal(of: user, after: one.version)))
            """
    }

    /// Forgets ended registrations of a user with many, except those that an earlier change may still concern.
    ///
    /// Two for each new one, so that their number stays below that of a day's changes.
    static func forgetOldest(of user: UserName, app: Int64, most: Int, new: Int, now: Int64) -> SQLStatement {
        let past: SQLStatement = """
            FROM registration WHERE app = \(app) AND "user" = \(user.key.text) AND \(raw: KeptRegistration.past) ORDER BY version
            """
        return """
            DELETE FROM registration WHERE "row" IN (SELECT "row" \(past) LIMIT \(2 * new)) AND \(KeptRegistration.isFinal(at: now))
                AND EXISTS (SELECT 1 \(past) LIMIT 1 OFFSET \(most))
            """
    }

    // MARK: Rows

    /// A handle's number, where the registration has an entry by it.
    private func entry(of one: KeptRegistration) -> Int64? {
        guard !self.digest.isWide, one.isLive, let handle = one.handle, let slot = one.slot else { return nil }
        return self.digest.number(of: handle, slot.pns, slot.kind, app: self.app)
    }

    /// A handle's wide digest, where the registration is found by it.
    private func wideDigest(of one: KeptRegistration) -> [UInt8]? {
        guard self.digest.isWide, one.isLive, let handle = one.handle, let slot = one.slot else { return nil }
        return self.digest.bytes(of: handle, slot.pns, slot.kind, app: self.app)
    }

    /// Takes digests that change hands from those that have them: no two may have one, not even within a transaction.
    private func yielding(in changes: [(before: KeptRegistration?, after: KeptRegistration)]) -> SQLStatement? {
        guard self.digest.isWide else { return nil }
        let taken = Set(changes.compactMap { self.wideDigest(of: $0.after) })
        let rows = changes.compactMap { before, after -> Int64? in
            guard let before, let old = self.wideDigest(of: before), taken.contains(old) else { return nil }
            return self.wideDigest(of: after) == old ? nil : before.row
        }
        return rows.isEmpty ? nil : "UPDATE registration SET digest = NULL WHERE \"row\" IN (\(numbers: rows))"
    }

    /// Its row, also where that is new.
    private func row(of one: KeptRegistration) -> SQLStatement {
        one.row.map { "CAST(\($0) AS BIGINT)" }
            ?? "(SELECT \"row\" FROM registration WHERE app = \(self.app) AND id = \(one.id.text))"
    }

    /// Gives what it names a number, unless it has one.
    private func mentions(_ one: KeptRegistration, unless former: KeptRegistration?) -> [SQLStatement] {
        var mentions: [SQLStatement] = []
        if let slot = one.slot, let name = one.credential.named, former?.credential != name || former?.slot != slot {
            mentions.append(
                """
                INSERT INTO credential(app, pns, name) VALUES (\(self.app), \(slot.pns.number), \(name.name))
                ON CONFLICT (app, pns, name) DO NOTHING
                """
            )
        }
        if let content = one.content, let digest = one.contentDigest, former?.content != content {
            mentions.append(
                """
                INSERT INTO template(app, digest, content) VALUES (\(self.app), \(digest), \(content))
                ON CONFLICT (app, digest) DO NOTHING
                """
            )
        }
        return mentions
    }

    private func template(_ digest: [UInt8]) -> SQLStatement {
        "(SELECT number FROM template WHERE app = \(self.app) AND digest = \(digest))"
    }

    private func credential(of one: KeptRegistration) -> SQLStatement {
        guard let slot = one.slot, let name = one.credential.named else { return "NULL" }
        return """
            (SELECT number FROM credential WHERE app = \(self.app) AND pns = \(slot.pns.number) AND name = \(name.name))
            """
    }

    /// The columns of a registration, each with its value.
    private func columns(of one: KeptRegistration) -> [(name: SQLStatement, value: SQLStatement)] {
        let columns: [(name: SQLStatement, value: SQLStatement)] = [
            ("pns", "\(one.slot?.number)"), ("template_slot", "\(one.slot?.template)"),
            ("credential", self.credential(of: one)), ("handle", "\(one.handle?.text)"),
            ("\"user\"", "\(one.user?.key.text)"), ("user_shown", "\(one.user?.shown)"),
            ("state", "\(raw: "\(one.state.number)")"), ("version", "\(one.version)"), ("updated", "\(one.updated)"),
            ("expires", "\(one.expires)"), ("ended_at", "\(one.ended?.at)"), ("ended_reason", "\(one.ended?.reason)"),
            ("tags", "\(one.tags.text)"), ("template", one.contentDigest.map(self.template) ?? "NULL"),
            ("written", "\(one.written)"),
        ]
        return self.digest.isWide ? columns + [("digest", "\(self.wideDigest(of: one))")] : columns
    }

    private func insertion(of one: KeptRegistration) -> SQLStatement {
        let columns = [("app", "\(self.app)"), ("id", "\(one.id.text)")] + self.columns(of: one)
        return """
            INSERT INTO registration(\(SQLStatement(joining: columns.map(\.0), with: ", ")))
            VALUES (\(SQLStatement(joining: columns.map(\.1), with: ", "))) ON CONFLICT (app, id) DO NOTHING
            """
    }

    /// Columns that keep their value are not named: each would cost its index a change.
    private func update(_ old: KeptRegistration, to new: KeptRegistration) -> SQLStatement? {
        let changes = zip(self.columns(of: old), self.columns(of: new)).filter { $0.value != $1.value }
            .map { _, new -> SQLStatement in "\(new.name) = \(new.value)" }
        guard let row = old.row, !changes.isEmpty else { return nil }
        return """
            UPDATE registration SET \(SQLStatement(joining: changes, with: ", "))
            WHERE "row" = \(row) AND version = \(old.version) AND state = \(raw: "\(old.state.number)")
                AND tags IS NOT DISTINCT FROM \(old.tags.text)
            """
    }

    // MARK: Audiences

    private static func leave(_ tags: Set<Int64>, _ slot: Int, _ row: Int64) -> SQLStatement {
        "DELETE FROM tagged WHERE tag IN (\(numbers: tags.sorted())) AND pns = \(slot) AND \"row\" = \(row)"
    }

    private func join(_ tags: Set<Int64>, _ slot: Int, _ row: SQLStatement) -> SQLStatement {
        """
        INSERT INTO tagged(tag, pns, "row") SELECT tags.value, CAST(\(slot) AS INTEGER), \(row) FROM (\(numbers: tags.sorted())) AS tags
        """
    }
}

extension KeptRegistration {
    /// Its tags in the audiences' index, by slot.
    fileprivate var audiences: [Int: Set<Int64>] {
        guard let slot = self.slot, !self.tags.numbers.isEmpty else { return [:] }
        return [slot.number: Set(self.tags.numbers)]
    }

    /// Whether the job of a registration's last change, and so all before it, can change nothing any more.
    package static func isFinal(at now: Int64) -> SQLStatement {
        "NOT EXISTS (SELECT 1 FROM job WHERE job.sequence = registration.version AND job.ends > \(now))"
    }
}
