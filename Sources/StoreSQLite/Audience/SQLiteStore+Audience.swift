import PushModel
package import Store
package import StoreKit
import StoreSQL

extension SQLiteStore: AudienceEngine {
    package func page(of terms: AudienceTerms, _ query: AudienceQuery) async throws -> AudiencePage {
        let limits = self.configuration.audienceReadLimits
        return try await self.read(size: .long) { database in
            if let tag = terms.onlyTag { return try SingleTagReader(database: database, query: query).page(of: tag) }
            var reader = try AudienceReader(database: database, terms: terms, query: query, limits: limits)
            return try reader.page(after: query.after, through: query.through, limit: query.limit)
        }
    }

    package func count(of terms: AudienceTerms, _ query: AudienceQuery) async throws -> AudienceCount {
        let limits = self.configuration.audienceReadLimits
        return try await self.read(size: .long) { database in
            var reader = try AudienceReader(database: database, terms: terms, query: query, limits: limits)
            return try reader.count(after: query.after, through: query.through)
        }
    }

    package func members(
        of terms: AudienceTerms,
        among rows: ArraySlice<Int64>,
        _ query: AudienceQuery
    ) async throws -> (page: AudiencePage, rest: ArraySlice<Int64>) {
        let limits = self.configuration.audienceReadLimits
        return try await self.read(size: .long) { database in
            var rest = rows
            var reader = try AudienceReader(database: database, terms: terms, query: query, limits: limits)
            return (try reader.handles(of: &rest), rest)
        }
    }

    static let rowsOfTag = TagQuery(rows: "pns = ?3 AND row > ?4 AND row <= ?5 ORDER BY row LIMIT ?6")

    /// A statement a tag: one for all of them would read each tag to its end, and not only its first rows.
    package func rows(for search: RowSearch) async throws -> (rows: [Int64], tags: Int) {
        let maximumCost = self.configuration.audienceReadLimits.maximumCost
        return try await self.read(size: .long) { database in
            let query = try PreparedTagQuery(Self.rowsOfTag, in: database)
            defer { query.reset() }
            let (slot, most) = (Int64(search.slot), Int64(search.most))
            var (rows, tags) = ([Int64](), 0)
            for tag in search.next where !search.isPiece(rows.count, of: tags, maximumCost: maximumCost) {
                let statement = try query.start(tag, slot, search.after, search.end, most)
                let row = statement.column("row")
                while try statement.step() { rows.append(statement.integer(row)) }
                tags += 1
            }
            return (rows, tags)
        }
    }

    static let liveWithTags = """
        SELECT row, app, user, tags, handle, credential, template FROM registration
        WHERE row = ?1 AND pns = ?2 AND \(KeptRegistration.live)
        """

    package func live(
        _ rows: ArraySlice<Int64>,
        having tags: Set<StoredTag>,
        _ query: AudienceQuery
    ) async throws -> AudiencePage {
        try await self.read(size: .long) { database in
            let statement = try PreparedStatement(Self.liveWithTags, in: database)
            defer { statement.reset() }
            let (app, user, list) = (statement.column("app"), statement.column("user"), statement.column("tags"))
            var devices = DeviceColumns(statement, in: database, of: query.kind)
            var page = AudiencePage(scannedThrough: query.through)
            for row in rows {
                try statement.restart(row, Int64(query.slot))
                guard try statement.step() else { continue }
                let own = statement.text(user).map { StoredTag.user(ExactText($0), app: statement.integer(app)) }
                let others = try TagList(stored: statement.text(list)).numbers.lazy.map { StoredTag.number($0) }
                guard own.map(tags.contains) ?? false || others.contains(where: tags.contains) else { continue }
                try devices.append(to: &page)
            }
            return page
        }
    }
}

/// Reads the audience of a single tag: one index range, each row with its handle.
struct SingleTagReader {
    static let query = TagQuery(
        ofNumber: """
            SELECT t.row, r.handle, r.credential, r.template FROM tagged AS t CROSS JOIN registration AS r ON r.row = t.row
            WHERE t.tag = ?1 AND t.pns = ?3 AND t.row > ?4 AND t.row <= ?5 ORDER BY t.row LIMIT ?6
            """,
        ofUser: """
            SELECT row, handle, credential, template FROM registration WHERE user = ?1 AND app = ?2 AND \(KeptRegistration.live)
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
        var devices = DeviceColumns(statement, in: self.database, of: query.kind)
        while try statement.step() { try devices.append(to: &page) }
        if page.rows.count == limit, let last = page.rows.last { page.scannedThrough = last }
        return page
    }
}

/// The columns `row`, `handle` and `credential` of a statement, which each reader of an audience has, and `template`.
///
/// The hot path: they are read from SQLite's own memory into the page's buffers, without an object a row.
struct DeviceColumns {
    private let statement: PreparedStatement
    private let row: Int32
    private let handle: Int32
    private let credential: Int32
    /// Only of devices with templates.
    private let template: Int32?
    private var names: CredentialNames

    init(_ statement: PreparedStatement, in database: Database, of kind: RegistrationKind = .native) {
        self.statement = statement
        (self.row, self.handle) = (statement.column("row"), statement.column("handle"))
        self.credential = statement.column("credential")
        self.template = kind == .template ? statement.column("template") : nil
        self.names = CredentialNames(database)
    }

    /// The row where the statement is.
    var present: Int64 { self.statement.integer(self.row) }

    mutating func append(to page: inout AudiencePage) throws {
        try self.names.append(self.statement.integer(self.credential), at: page.rows.count, to: &page.credentials)
        page.rows.append(self.present)
        if let template = self.template { page.templates.append(self.statement.integer(template)) }
        self.statement.append(self.handle, to: &page.handles)
    }

    mutating func append(to devices: inout DeliverBatch.Devices) throws {
        try self.names.append(self.statement.integer(self.credential), at: devices.count, to: &devices.credentials)
        devices.rows.append(self.present)
        self.statement.append(self.handle, to: &devices.handles)
    }
}
