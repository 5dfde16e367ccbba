import PushModel
package import Store
import StoreKit

extension SQLiteStore {
    package func audience(_ query: AudienceQuery) async throws -> AudiencePage {
        let end = AudiencePage(scannedThrough: max(query.after, query.through))
        guard query.limit > 0, query.after < query.through else { return end }
        guard let expression = try await self.expression(of: query) else { return try await self.recipients(query) }
        if let rows = query.rows { return try await self.live(rows, in: expression, query) }
        var page: AudiencePage
        if let many = ManyTags(expression, query, store: self) {
            page = try await many.page()
        } else {
            page = try await self.evaluate(expression, query) { database, terms, limits in
                guard let terms else { return end }
                if let tag = terms.onlyTag {
                    return try SingleTagReader(database: database, query: query).page(of: tag)
                }
                var reader = try AudienceReader(database: database, terms: terms, query: query, limits: limits)
                return try reader.page(after: query.after, through: query.through, limit: query.limit)
            }
        }
        if query.kind == .template { try await self.addTemplates(to: &page, of: query) }
        return page
    }

    package func count(_ query: AudienceQuery) async throws -> AudienceCount {
        let end = AudienceCount(count: 0, scannedThrough: max(query.after, query.through))
        guard query.after < query.through else { return end }
        guard let expression = try await self.expression(of: query) else {
            let page = try await self.recipients(query)
            return AudienceCount(count: page.rows.count, scannedThrough: page.scannedThrough)
        }
        if let many = ManyTags(expression, query, store: self) { return try await many.count() }
        return try await self.evaluate(expression, query) { database, terms, limits in
            guard let terms else { return end }
            var reader = try AudienceReader(database: database, terms: terms, query: query, limits: limits)
            return try reader.count(after: query.after, through: query.through)
        }
    }

    /// Those of some rows that are in an audience.
    private func live(_ rows: [Int64], in expression: TagExpression, _ query: AudienceQuery) async throws
        -> AudiencePage
    {
        if let many = ManyTags(expression, query, store: self) { return try await many.live(rows.sorted()) }
        var rest = rows.sorted()[...]
        var found = AudiencePage(scannedThrough: query.through)
        while !rest.isEmpty {
            try Task.checkCancellation()
            let before = rest
            let page: AudiencePage
            (page, rest) = try await self.evaluate(expression, query) { database, terms, limits in
                var rest = before
                guard let terms else { return (AudiencePage(scannedThrough: 0), []) }
                var reader = try AudienceReader(database: database, terms: terms, query: query, limits: limits)
                return (try reader.handles(of: &rest), rest)
            }
            found.append(page)
        }
        found.scannedThrough = query.through
        return found
    }

    /// The expression that selects an audience; nil where that is a list.
    private func expression(of query: AudienceQuery) async throws -> TagExpression? {
        switch query.subject {
        case .expression(let expression): return expression
        case .recipients: return nil
        case .tags(let job):
            if let known = query.memory?.recall(TagExpression.self) { return known }
            let whole = try await self.wholeExpression(of: job)
            query.memory?.keep(whole)
            return whole
        }
    }

    /// Tags that are looked up in one read transaction.
    private static let tagsARead = 1000

    /// Reads with an expression that is compiled and of which the tags' numbers are known; with nil for an app without registrations.
    private func evaluate<Value: Sendable>(
        _ expression: TagExpression,
        _ query: AudienceQuery,
        _ body: @escaping @Sendable (Database, AudienceTerms?, AudienceReadLimits) throws -> Value
    ) async throws -> Value {
        let known = query.memory?.recall(AudienceTerms.self)
        // Outside of the transaction.
        let compiled = known?.compiled ?? CompiledExpression(expression)
        var tags = known?.tags ?? [StoredTag?](repeating: nil, count: expression.tags.count)
        // Tag numbers never change, so many tags can be looked up in several transactions; a tag without one may get it.
        var unknown = tags.indices.filter { tags[$0] == nil }[...]
        while unknown.count > Self.tagsARead {
            let some = unknown.prefix(Self.tagsARead)
            unknown = unknown.dropFirst(some.count)
            let found = try await self.read(size: .long) {
                try $0.stored(some.lazy.map { expression.tags[$0] }, app: query.app)
            }
            for (index, tag) in zip(some, found) { tags[index] = tag }
        }
        let (before, rest, limits) = (tags, unknown, self.configuration.audienceReadLimits)
        let (value, terms) = try await self.read(size: .long) { database in
            let found = try database.stored(rest.lazy.map { expression.tags[$0] }, app: query.app)
            var tags = before
            for (index, tag) in zip(rest, found) { tags[index] = tag }
            let terms = try database.number(of: query.app).map { app in
                AudienceTerms(expression: expression, compiled: compiled, app: app, tags: tags)
            }
            return (try body(database, terms, limits), terms)
        }
        if let terms { query.memory?.keep(terms) }
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

extension AudienceQuery {
    /// The number of service and kind.
    var slot: Int { RegistrationSlot.number(self.pns, self.kind) }
}

/// Reads the audience of a single tag: one index range, each row with its handle.
struct SingleTagReader {
    static let query = TagQuery(
        ofNumber: """
            SELECT t.row, r.handle, r.credential FROM tagged AS t CROSS JOIN registration AS r ON r.row = t.row
            WHERE t.tag = ?1 AND t.pns = ?3 AND t.row > ?4 AND t.row <= ?5 ORDER BY t.row LIMIT ?6
            """,
        ofUser: """
            SELECT row, handle, credential FROM registration WHERE user = ?1 AND app = ?2 AND \(KeptRegistration.live)
            AND pns = ?3 AND row > ?4 AND row <= ?5 ORDER BY row LIMIT ?6
            """
    )

    let database: Database
    let query: AudienceQuery

    func page(of tag: StoredTag) throws -> AudiencePage {
        let (limit, query) = (self.query.limit, self.query)
        let statement = try PreparedStatement(Self.query[tag], in: self.database)
        defer { statement.reset() }
        try statement.restart(tag, [Int64(query.slot), query.after, query.through, Int64(limit)])
        var page = AudiencePage(scannedThrough: query.through)
        page.rows.reserveCapacity(limit)
        page.handles.reserveCapacity(limit, bytes: limit * 64)
        var devices = DeviceColumns(statement, in: self.database)
        while try statement.step() { try devices.append(to: &page) }
        if page.rows.count == limit, let last = page.rows.last { page.scannedThrough = last }
        return page
    }
}

/// The columns `row`, `handle` and `credential` of a statement, which each reader of an audience has.
///
/// The hot path: they are read from SQLite's own memory into the page's buffers, without an object a row.
struct DeviceColumns {
    private let statement: PreparedStatement
    private let row: Int32
    private let handle: Int32
    private let credential: Int32
    private var names: CredentialNames

    init(_ statement: PreparedStatement, in database: Database) {
        self.statement = statement
        (self.row, self.handle) = (statement.column("row"), statement.column("handle"))
        self.credential = statement.column("credential")
        self.names = CredentialNames(database)
    }

    /// The row where the statement is.
    var present: Int64 { self.statement.integer(self.row) }

    mutating func append(to page: inout AudiencePage) throws {
        try self.names.append(self.statement.integer(self.credential), at: page.rows.count, to: &page.credentials)
        page.rows.append(self.present)
        self.statement.append(self.handle, to: &page.handles)
    }

    mutating func append(to devices: inout DeliverBatch.Devices) throws {
        try self.names.append(self.statement.integer(self.credential), at: devices.count, to: &devices.credentials)
        devices.rows.append(self.present)
        self.statement.append(self.handle, to: &devices.handles)
    }
}
