import Foundation
import GRDB
import GRDBSQLite
package import PushModel
package import Store

extension SQLiteStore {
    /// See ``PlanStore/audience(of:app:pns:after:through:limit:)``.
    package func audience(
        of expression: TagExpression,
        app: AppID,
        pns: PNS,
        after: Int64,
        through: Int64,
        limit: Int
    ) async throws -> AudiencePage {
        guard limit > 0, after < through else { return AudiencePage(scannedThrough: max(after, through)) }
        return try await self.read { database in
            let tags = try database.numbers(of: expression.alternatives, app: app)
            return try AudienceReader(database: database, pns: pns, through: through, limit: limit)
                .page(of: tags, after: after)
        }
    }

    /// See ``PlanStore/handles(of:in:app:pns:)``.
    package func handles(
        of rows: [Int64],
        in expression: TagExpression,
        app: AppID,
        pns: PNS
    ) async throws -> [Int64: Handle] {
        try await self.read { database in
            let tags = try database.numbers(of: expression.alternatives, app: app)
            var found: [Int64: Handle] = [:]
            for row in rows {
                let isMeant = try tags.contains { tag in
                    try database.exists(
                        "SELECT 1 FROM registration_tag WHERE tag = ? AND pns = ? AND row = ?",
                        [tag, pns.number, row]
                    )
                }
                guard isMeant else { continue }
                found[row] = try database.first("SELECT handle FROM registration WHERE row = ? AND state = 1", [row]) {
                    Handle(stored: $0[0])
                }
            }
            return found
        }
    }
}

extension TagExpression {
    /// The tags of which one is enough.
    var alternatives: [Tag] {
        switch self {
        case .tag, .any: self.tags
        }
    }
}

extension Database {
    /// The numbers of those tags that any registration has had.
    func numbers(of tags: [Tag], app: AppID) throws -> [Int64] {
        guard let number = try self.number(of: app) else { return [] }
        return try tags.compactMap { tag in
            try self.first("SELECT number FROM tag WHERE app = ? AND name = ?", [number, tag.name]) { $0[0] as Int64 }
        }
    }
}

/// Reads a page of an audience: one index range a tag, merged in the order of rows.
struct AudienceReader {
    /// One range of the tag index, in its order, each row with its handle.
    static let sql = """
        SELECT t.row, r.handle FROM registration_tag AS t CROSS JOIN registration AS r ON r.row = t.row
        WHERE t.tag = ?1 AND t.pns = ?2 AND t.row > ?3 AND t.row <= ?4 ORDER BY t.row LIMIT ?5
        """

    let database: Database
    let pns: PNS
    let through: Int64
    let limit: Int

    func page(of tags: [Int64], after: Int64) throws -> AudiencePage {
        guard tags.count != 1 else { return try self.rows(of: tags[0], after: after, limit: self.limit) }
        // Each range is read in small pieces: what is read beyond the page's end is thrown away.
        let piece = max(16, self.limit / (4 * max(1, tags.count)))
        var pieces = try tags.map { try self.rows(of: $0, after: after, limit: piece) }
        var positions = [Int](repeating: 0, count: tags.count)
        // The next row of each range; .max = it has none.
        var heads = pieces.map { $0.rows.first ?? .max }
        var merged = AudiencePage(scannedThrough: self.through)
        merged.rows.reserveCapacity(self.limit)
        merged.handles.reserveCapacity(self.limit, bytes: self.limit * 64)
        while merged.rows.count < self.limit, let least = heads.min(), least < .max {
            var isTaken = false
            for index in heads.indices where heads[index] == least {
                if !isTaken {
                    merged.rows.append(least)
                    merged.handles.append(pieces[index].handles[positions[index]])
                    isTaken = true
                }
                positions[index] += 1
                if positions[index] == pieces[index].rows.count, positions[index] == piece {
                    pieces[index] = try self.rows(of: tags[index], after: least, limit: piece)
                    positions[index] = 0
                }
                let position = positions[index]
                heads[index] = position < pieces[index].rows.count ? pieces[index].rows[position] : .max
            }
        }
        if merged.rows.count == self.limit, let last = merged.rows.last { merged.scannedThrough = last }
        return merged
    }

    /// The hot path: columns are read from SQLite's own memory into the page's buffers, without an object a row.
    private func rows(of tag: Int64, after: Int64, limit: Int) throws -> AudiencePage {
        let cached = try self.database.cachedStatement(sql: Self.sql)
        let statement = unsafe cached.sqliteStatement
        defer {
            _ = unsafe sqlite3_reset(statement)
            _ = unsafe sqlite3_clear_bindings(statement)
        }
        _ = unsafe sqlite3_reset(statement)
        for (index, value) in [tag, Int64(self.pns.number), after, self.through, Int64(limit)].enumerated() {
            guard unsafe sqlite3_bind_int64(statement, CInt(index + 1), value) == SQLITE_OK else {
                throw StoreError(.corrupt, "an audience's bounds cannot be bound")
            }
        }
        var page = AudiencePage(scannedThrough: self.through)
        page.rows.reserveCapacity(limit)
        page.handles.reserveCapacity(limit, bytes: limit * 64)
        while true {
            let code = unsafe sqlite3_step(statement)
            guard code == SQLITE_ROW else {
                guard code == SQLITE_DONE else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
                if page.rows.count == limit, let last = page.rows.last { page.scannedThrough = last }
                return page
            }
            page.rows.append(unsafe sqlite3_column_int64(statement, 0))
            // The bytes are SQLite's until the next step.
            let text = unsafe sqlite3_column_text(statement, 1)
            let length = Int(unsafe sqlite3_column_bytes(statement, 1))
            unsafe page.handles.append(UnsafeBufferPointer(start: text, count: text == nil ? 0 : length))
        }
    }
}
