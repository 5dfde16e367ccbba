import PushModel
import Store
import StoreKit
import StoreSQL

/// The statements that write rows of an import together.
struct ImportWrites {
    struct New {
        let row: ImportedRegistration
        let digest: [UInt8]
        let names: ImportNames.Numbers
    }

    struct Renewed {
        let row: ImportedRegistration
        let known: ImportKnown
        let names: ImportNames.Numbers
    }

    let app: Int64
    let sequence: Int64
    let wall: Timestamp

    /// Gives names their numbers; nil where all have them.
    func mentions(_ missing: ImportNames.Missing) -> [SQLStatement]? {
        guard !missing.tags.isEmpty || !missing.credentials.isEmpty else { return nil }
        // In one order, so that two imports do not wait for each other.
        let (tags, credentials) = (
            missing.tags.sorted(), missing.credentials.sorted { ($0.pns, $0.name) < ($1.pns, $1.name) }
        )
        return [
            """
            INSERT INTO tag_name(app, name, name_shown) SELECT \(self.app), name, shown
            FROM unnest(\(SQLArray.texts(tags.map(\.key))), \(SQLArray.texts(tags.map(\.shown)))) AS new(name, shown)
            ON CONFLICT (app, name) DO NOTHING
            """,
            """
            INSERT INTO credential(app, pns, name) SELECT \(self.app), pns, name
            FROM unnest(\(SQLArray.integers(credentials.map { Int64($0.pns) })), \(SQLArray.texts(credentials.map(\.name)))) AS new(pns, name)
            ON CONFLICT (app, pns, name) DO NOTHING
            """,
        ]
    }

    /// Keeps an app that has nothing yet as it is declared.
    var hold: SQLStatement {
        """
        SELECT number FROM app WHERE number = \(self.app)
            AND NOT EXISTS (SELECT 1 FROM registration WHERE registration.app = app.number)\(lock: .share)
        """
    }

    /// Inserts registrations with their tags.
    func insert(_ rows: [New]) throws -> [SQLStatement] {
        guard !rows.isEmpty else { return [] }
        let ids = rows.map { ($0.row.id ?? .random()).text }
        let slots = rows.map { Int64(RegistrationSlot($0.row).number) }
        let tags = rows.map { TagList($0.names.tags).text }
        let written = try rows.map { try $0.row.written.map(StoredJSON.text) }
        return [
            """
            WITH new AS (
                INSERT INTO registration(
                    app, id, pns, credential, handle, digest, "user", user_shown, state, version, updated, expires, tags, written)
                SELECT CAST(\(self.app) AS bigint), id, pns, credential, handle, digest, name, shown,
                    \(raw: "\(Registration.State.live.number)"), CAST(\(self.sequence) AS bigint),
                    CAST(\(self.wall.milliseconds) AS bigint), expires, tags, written
                FROM unnest(\(SQLArray.texts(ids)), \(SQLArray.integers(slots)), \(SQLArray.integers(rows.map(\.names.credential))),
                    \(SQLArray.texts(rows.map(\.row.handle.text))), \(SQLArray.byteStrings(rows.map(\.digest))),
                    \(SQLArray.texts(rows.map(\.row.user?.key.text))), \(SQLArray.texts(rows.map(\.row.user?.shown))),
                    \(SQLArray.integers(rows.map(\.row.expires?.milliseconds))), \(SQLArray.texts(tags)), \(SQLArray.texts(written)))
                    AS given(id, pns, credential, handle, digest, name, shown, expires, tags, written)
                RETURNING "row", pns, tags)
            INSERT INTO tagged(tag, pns, "row")
            SELECT CAST(list.value AS bigint), new.pns, new."row" FROM new, jsonb_array_elements_text(new.tags::jsonb) AS list(value)
            ORDER BY 1, 2, 3
            """
        ]
    }

    /// Renews registrations: tags that stay are not touched, so that an import that is repeated writes next to nothing.
    func renew(_ rows: [Renewed]) throws -> [SQLStatement] {
        guard !rows.isEmpty else { return [] }
        let tags = rows.map { TagList($0.names.tags).text }
        let written = try rows.map { try $0.row.written.map(StoredJSON.text) }
        var (left, joined) = (Entries(), Entries())
        for renewed in rows {
            var wanted = Set(renewed.names.tags)
            for tag in try TagList(stored: renewed.known.tags).numbers where wanted.remove(tag) == nil {
                left.append(tag, renewed)
            }
            for tag in wanted { joined.append(tag, renewed) }
        }
        let update: SQLStatement = """
            UPDATE registration SET version = \(self.sequence), updated = \(self.wall.milliseconds), expires = new.expires,
                tags = new.tags, credential = new.credential, written = coalesce(new.written, registration.written), "user" = new.name,
                user_shown = CASE WHEN registration."user" = new.name THEN registration.user_shown ELSE new.shown END
            FROM unnest(\(SQLArray.integers(rows.map(\.known.row))), \(SQLArray.integers(rows.map(\.known.version))),
                \(SQLArray.texts(rows.map(\.known.tags))), \(SQLArray.texts(rows.map(\.row.user?.key.text))),
                \(SQLArray.texts(rows.map(\.row.user?.shown))), \(SQLArray.texts(tags)),
                \(SQLArray.integers(rows.map(\.names.credential))), \(SQLArray.integers(rows.map(\.row.expires?.milliseconds))),
                \(SQLArray.texts(written)))
                AS new("row", version, old, name, shown, tags, credential, expires, written)
            WHERE registration."row" = new."row" AND registration.version = new.version AND registration.\(raw: KeptRegistration.live)
                AND registration.tags IS NOT DISTINCT FROM new.old
            """
        return [
            update.expecting(rows.count),
            """
            DELETE FROM tagged USING \(left.table) AS new(tag, pns, "row")
            WHERE tagged.tag = new.tag AND tagged.pns = new.pns AND tagged."row" = new."row"
            """,
            "INSERT INTO tagged(tag, pns, \"row\") SELECT tag, pns, \"row\" FROM \(joined.table) AS new(tag, pns, \"row\") ORDER BY 1, 2, 3",
        ]
    }

    /// Rows of the table `tagged`.
    private struct Entries {
        private var (tags, slots, rows) = ([Int64](), [Int64](), [Int64]())

        mutating func append(_ tag: Int64, _ renewed: Renewed) {
            self.tags.append(tag)
            self.slots.append(Int64(RegistrationSlot(renewed.row).number))
            self.rows.append(renewed.known.row)
        }

        var table: SQLStatement {
            "unnest(\(SQLArray.integers(self.tags)), \(SQLArray.integers(self.slots)), \(SQLArray.integers(self.rows)))"
        }
    }
}
