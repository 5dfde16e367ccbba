package import PushModel
package import Store
import StoreKit

extension SQLiteStore {
    /// See ``AudienceStore/audience(of:kind:app:pns:after:through:limit:memory:)``.
    package func audience(
        of expression: TagExpression,
        kind: RegistrationKind,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        limit: Int,
        memory: AudienceMemory?
    ) async throws -> AudiencePage {
        let end = AudiencePage(scannedThrough: max(after, through))
        guard limit > 0, after < through else { return end }
        let slot = RegistrationSlot.number(pns, kind)
        var page: AudiencePage
        if let many = ManyTags(expression, app: app, store: self, memory: memory) {
            page = try await many.page(slot: slot, after: after, through: through, limit: limit)
        } else {
            let limits = self.configuration.audienceReadLimits
            page = try await self.evaluate(expression, app: app, memory: memory) { database, terms in
                guard let terms else { return end }
                if let tag = terms.onlyTag {
                    return try SingleTagReader(database: database, slot: slot)
                        .page(of: tag, after: after, through: through, limit: limit)
                }
                var reader = try AudienceReader(
                    database: database,
                    terms: terms,
                    slot: slot,
                    through: through,
                    limits: limits
                )
                return try reader.page(after: after, through: through, limit: limit)
            }
        }
        if kind == .template { page.templates = try await self.templates(ofRows: page.rows) }
        return page
    }

    /// The numbers of the templates of some rows; 0 for one that has none any more.
    private func templates(ofRows rows: [Int64]) async throws -> [Int64] {
        var numbers: [Int64] = []
        for start in stride(from: 0, to: rows.count, by: Self.rowsARead) {
            let some = rows[start..<min(start + Self.rowsARead, rows.count)]
            numbers += try await self.read(size: .long) { database in
                let statement = try RawStatement("SELECT template FROM registration WHERE row = ?", in: database)
                defer { statement.reset() }
                return try some.map { row in
                    try statement.restart(row)
                    return try statement.step() ? statement.integer(0) : 0
                }
            }
        }
        return numbers
    }

    /// Rows whose templates are read in one transaction.
    private static let rowsARead = 4096

    /// See ``AudienceStore/count(of:app:pns:after:through:memory:)``.
    package func count(
        of expression: TagExpression,
        app: AppID,
        pns: PushService,
        after: Int64,
        through: Int64,
        memory: AudienceMemory?
    ) async throws -> AudienceCount {
        let end = AudienceCount(count: 0, scannedThrough: max(after, through))
        guard after < through else { return end }
        if let many = ManyTags(expression, app: app, store: self, memory: memory) {
            return try await many.count(slot: pns.number, after: after, through: through)
        }
        let limits = self.configuration.audienceReadLimits
        return try await self.evaluate(expression, app: app, memory: memory) { database, terms in
            guard let terms else { return end }
            var reader = try AudienceReader(
                database: database,
                terms: terms,
                slot: pns.number,
                through: through,
                limits: limits
            )
            return try reader.count(after: after, through: through)
        }
    }

    /// See ``AudienceStore/addresses(of:in:kind:app:pns:memory:)``.
    package func addresses(
        of rows: [Int64],
        in expression: TagExpression,
        kind: RegistrationKind,
        app: AppID,
        pns: PushService,
        memory: AudienceMemory?
    ) async throws -> [Int64: DeviceAddress] {
        let slot = RegistrationSlot.number(pns, kind)
        if let many = ManyTags(expression, app: app, store: self, memory: memory) {
            return try await many.addresses(of: rows, slot: slot)
        }
        let limits = self.configuration.audienceReadLimits
        var rest = rows.sorted()[...]
        var addresses: [Int64: DeviceAddress] = [:]
        while !rest.isEmpty {
            try Task.checkCancellation()
            let before = rest
            let page: AudiencePage
            (page, rest) = try await self.evaluate(expression, app: app, memory: memory) { database, terms in
                var rest = before
                guard let terms else { return (AudiencePage(scannedThrough: 0), []) }
                var reader = try AudienceReader(
                    database: database,
                    terms: terms,
                    slot: slot,
                    through: .max,
                    limits: limits
                )
                return (try reader.handles(of: &rest), rest)
            }
            addresses.merge(page.addresses) { $1 }
        }
        return addresses
    }

    /// Tags that are looked up in one read transaction.
    private static let tagsARead = 1000

    /// Reads with an expression that is compiled and of which the tags' numbers are known; with nil for an app without registrations.
    private func evaluate<Value: Sendable>(
        _ expression: TagExpression,
        app: AppID,
        memory: AudienceMemory?,
        _ body: @escaping @Sendable (Database, AudienceTerms?) throws -> Value
    ) async throws -> Value {
        let known = memory?.recall(AudienceTerms.self)
        // Outside of the transaction.
        let compiled = known?.compiled ?? CompiledExpression(expression)
        var tags = known?.tags ?? [StoredTag?](repeating: nil, count: expression.tags.count)
        // Tag numbers never change, so many tags can be looked up in several transactions; a tag without one may get it.
        var unknown = tags.indices.filter { tags[$0] == nil }[...]
        while unknown.count > Self.tagsARead {
            let some = unknown.prefix(Self.tagsARead)
            unknown = unknown.dropFirst(some.count)
            let found = try await self.read(size: .long) {
                try $0.stored(some.lazy.map { expression.tags[$0] }, app: app)
            }
            for (index, tag) in zip(some, found) { tags[index] = tag }
        }
        let (before, rest) = (tags, unknown)
        let (value, terms) = try await self.read(size: .long) { database in
            let found = try database.stored(rest.lazy.map { expression.tags[$0] }, app: app)
            var tags = before
            for (index, tag) in zip(rest, found) { tags[index] = tag }
            let terms = try database.number(of: app).map { app in
                AudienceTerms(expression: expression, compiled: compiled, app: app, tags: tags)
            }
            return (try body(database, terms), terms)
        }
        if let terms { memory?.keep(terms) }
        return value
    }
}

/// An expression with the store's numbers of its tags.
struct AudienceTerms: Sendable {
    let expression: TagExpression
    let compiled: CompiledExpression
    let app: Int64
    /// The tags of the expression; nil = no registration ever had it.
    let tags: [StoredTag?]

    /// The only tag of the audience, if it has just one.
    var onlyTag: StoredTag? {
        guard self.expression.alternatives != nil else { return nil }
        let known = self.tags.compactMap { $0 }
        return known.count == 1 ? known.first : nil
    }
}

/// Reads the audience of a single tag: one index range, each row with its handle.
struct SingleTagReader {
    static let query = TagQuery(
        ofNumber: """
            SELECT t.row, r.handle, r.credential FROM tagged AS t CROSS JOIN registration AS r ON r.row = t.row
            WHERE t.tag = ?1 AND t.pns = ?3 AND t.row > ?4 AND t.row <= ?5 ORDER BY t.row LIMIT ?6
            """,
        ofUser: """
            SELECT row, handle, credential FROM registration WHERE user = ?1 AND app = ?2 AND \(RegistrationRow.isLive)
            AND pns = ?3 AND row > ?4 AND row <= ?5 ORDER BY row LIMIT ?6
            """
    )

    let database: Database
    let slot: Int

    /// The hot path: columns are read from SQLite's own memory into the page's buffers, without an object a row.
    func page(of tag: StoredTag, after: Int64, through: Int64, limit: Int) throws -> AudiencePage {
        let statement = try RawStatement(Self.query[tag], in: self.database)
        defer { statement.reset() }
        try statement.restart(tag, [Int64(self.slot), after, through, Int64(limit)])
        var page = AudiencePage(scannedThrough: through)
        page.rows.reserveCapacity(limit)
        page.handles.reserveCapacity(limit, bytes: limit * 64)
        var names = CredentialNames(self.database)
        while try statement.step() {
            try names.append(statement.integer(2), at: page.rows.count, to: &page.credentials)
            page.rows.append(statement.integer(0))
            statement.append(1, to: &page.handles)
        }
        if page.rows.count == limit, let last = page.rows.last { page.scannedThrough = last }
        return page
    }
}
