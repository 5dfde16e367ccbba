import PushModel
package import Store
package import StoreKit
import StoreSQL

extension PostgreSQLStore: AudienceEngine {
    private static let limits = AudienceReadLimits()

    package func page(of terms: AudienceTerms, _ query: AudienceQuery) async throws -> AudiencePage {
        guard let tag = terms.onlyTag else {
            return try await self.reading(terms, query) { reader in
                try reader.page(after: query.after, through: query.through, limit: query.limit)
            }
        }
        var page = try await self.devices(Self.devices(of: tag, query), query)
        if page.rows.count == query.limit, let last = page.rows.last { page.scannedThrough = last }
        return page
    }

    /// With the limit inside, no plan reads beyond the page.
    static func devices(of tag: StoredTag, _ query: AudienceQuery) -> SQLStatement {
        let rows = TagRange(tag, slot: query.slot)
            .rows(after: query.after, through: query.through, limit: query.limit)
        return """
            SELECT \(raw: DeviceList.ofRegistration) FROM (\(rows)) AS part JOIN registration ON registration."row" = part."row"
            ORDER BY part."row"
            """
    }

    package func count(of terms: AudienceTerms, _ query: AudienceQuery) async throws -> AudienceCount {
        guard let tag = terms.onlyTag else {
            return try await self.reading(terms, query) { reader in
                try reader.count(after: query.after, through: query.through)
            }
        }
        let most = Self.limits.maximumCost
        let rows = TagRange(tag, slot: query.slot).rows(after: query.after, through: query.through, limit: most)
        let row = try await self.rows(
            "SELECT count(*) AS count, max(\"row\") AS last FROM (\(rows)) AS part",
            size: .long
        ).first
        let count: Int = try row?["count"] ?? 0
        guard count == most, let row else { return AudienceCount(count: count, scannedThrough: query.through) }
        return AudienceCount(count: count, scannedThrough: try row["last"])
    }

    package func members(
        of terms: AudienceTerms,
        among rows: ArraySlice<Int64>,
        _ query: AudienceQuery
    ) async throws -> (page: AudiencePage, rest: ArraySlice<Int64>) {
        try await self.reading(terms, query) { reader in
            var rest = rows
            let page = try reader.handles(of: &rest)
            return (page, rest)
        }
    }

    /// The devices of a job's list.
    package func recipients(_ query: AudienceQuery) async throws -> AudiencePage {
        guard case .recipients(let job) = query.subject else { return AudiencePage(scannedThrough: query.through) }
        var range: SQLStatement = "number > \(query.after) AND number <= \(query.through)"
        // Those that are asked for are of one batch, and come in one answer; no more of the list is walked through than the batch.
        if let rows = query.rows?.sorted() {
            let (first, last) = (rows.first ?? 0, rows.last ?? 0)
            range = "number >= \(first) AND number <= \(last) AND number = ANY(\(SQLArray.integers(rows)))"
        }
        let limit = query.rows == nil ? query.limit : Int.max
        var page = try await self.devices(
            """
            SELECT \(raw: ListedDevice.address), r.template FROM \(raw: ListedDevice.source)
            WHERE t.job = \(job) AND t.pns = \(query.pns.number) AND \(range) AND \(raw: ListedDevice.isThere)
            ORDER BY t.number LIMIT \(limit)
            """,
            query
        )
        if page.rows.count == limit, let last = page.rows.last { page.scannedThrough = last }
        return page
    }

    // MARK: Many tags

    /// Tags of a statement, and rows that it gives at most, each some 0.3 µs.
    private static let (tagsARead, rowsARead) = (4096, 131_072)

    package func rows(for search: RowSearch) async throws -> (rows: [Int64], tags: Int) {
        // Users come first; each kind has an index of its own.
        var (numbers, names, app) = ([Int64](), [String](), Int64(0))
        for tag in search.next.prefix(Self.tagsARead) {
            switch tag {
            case .number(let number): numbers.append(number)
            case .user(let name, let ofApp):
                names.append(name.text)
                app = ofApp
            }
        }
        let tags: SQLStatement
        let source: SQLStatement
        if names.isEmpty {
            tags = "unnest(\(SQLArray.integers(numbers)))"
            source = "tagged WHERE tag = given.tag"
        } else {
            tags = "unnest(\(SQLArray.texts(names)))"
            source = "registration WHERE app = \(app) AND \"user\" = given.tag AND \(raw: KeptRegistration.live)"
        }
        let sought = names.isEmpty ? numbers.count : names.count
        let most = max(Self.rowsARead, search.most + 1)
        let found = try await self.rows(
            """
            SELECT string_agg(int8send(part.place), ''::bytea) AS places, string_agg(int8send(part."row"), ''::bytea) AS numbers FROM (
                SELECT given.place, one."row" FROM \(tags) WITH ORDINALITY AS given(tag, place), LATERAL (
                    SELECT "row" FROM \(source) AND pns = \(search.slot) AND "row" > \(search.after) AND "row" <= \(search.end)
                    ORDER BY "row" LIMIT \(search.most)) AS one
                LIMIT \(most)) AS part
            """,
            size: .long
        )
        guard let row = found.first else { throw StoreError(.corrupt, "there is no list of rows") }
        let (places, rows) = (try ByteList.numbers(row["places"]), try ByteList.numbers(row["numbers"]))
        // The last tag has more than were given.
        guard rows.count == most, let last = places.last else { return (rows, sought) }
        let whole = places.firstIndex(of: last) ?? 0
        return (Array(rows[..<whole]), Int(last) - 1)
    }

    package func live(
        _ rows: ArraySlice<Int64>,
        having tags: Set<StoredTag>,
        _ query: AudienceQuery
    ) async throws -> AudiencePage {
        let wanted: SQLStatement = """
            registration WHERE "row" = ANY(\(SQLArray.integers(Array(rows)))) AND pns = \(query.slot)
                AND \(raw: KeptRegistration.live)
            """
        let (lists, members) = try await self.rows(
            DeviceList.reading("SELECT \(raw: DeviceList.ofRegistration) FROM \(wanted) ORDER BY \"row\""),
            "SELECT \"row\", app, \"user\", tags FROM \(wanted)",
            size: .long
        )
        var having: Set<Int64> = []
        for row in members {
            let (name, app) = (try row["user"] as String?, try row["app"] as Int64)
            let own = name.map { StoredTag.user(ExactText($0), app: app) }
            let others = try TagList(stored: row["tags"]).numbers.lazy.map { StoredTag.number($0) }
            if own.map(tags.contains) ?? false || others.contains(where: tags.contains) {
                having.insert(try row["row"])
            }
        }
        let page = try await self.page(DeviceList(lists), query)
        return having.count == page.rows.count ? page : page.only(having)
    }

    // MARK: Reading

    /// Reads an audience step by step, in one snapshot.
    private func reading<Value: Sendable>(
        _ terms: AudienceTerms,
        _ query: AudienceQuery,
        _ body: @escaping @Sendable (inout AudienceReader<SnapshotSource>) throws -> Value
    ) async throws -> Value {
        let numbers = self.numbers
        return try await self.snapshots.read { snapshot in
            let source = SnapshotSource(snapshot, terms, query, numbers)
            // No window goes beyond the last row there is.
            let through = min(query.through, try source.lastRow())
            var reader = AudienceReader(terms.compiled, source: source, through: through, limits: Self.limits)
            return try body(&reader)
        }
    }

    /// The devices of a query with the columns that a ``DeviceList`` needs; its end is the query's.
    private func devices(_ statement: SQLStatement, _ query: AudienceQuery) async throws -> AudiencePage {
        try await self.page(DeviceList(self.rows(DeviceList.reading(statement), size: .long)), query)
    }

    private func page(_ list: DeviceList, _ query: AudienceQuery) async throws -> AudiencePage {
        try await self.page(list, query.kind, through: query.through)
    }

    /// The devices of a list with the names of their credentials.
    func page(_ list: DeviceList, _ kind: RegistrationKind, through: Int64) async throws -> AudiencePage {
        let credentials = Set(list.credentials)
        var names = self.numbers.credentials(credentials)
        let unknown = credentials.filter { names[$0] == nil }
        if !unknown.isEmpty {
            try self.numbers.keep(await self.rows(KnownNumbers.names(of: unknown.sorted())))
            names = self.numbers.credentials(credentials)
        }
        var page = AudiencePage(scannedThrough: through)
        try list.append(to: &page, names, kind)
        return page
    }
}

extension AudiencePage {
    /// Its devices that are among some rows.
    fileprivate func only(_ rows: Set<Int64>) -> AudiencePage {
        var found = AudiencePage(scannedThrough: self.scannedThrough)
        for index in self.rows.indices where rows.contains(self.rows[index]) {
            found.credentials.append(self.credentials[index], at: found.rows.count)
            found.rows.append(self.rows[index])
            found.handles.append(self.handles[index])
            if !self.templates.isEmpty { found.templates.append(self.templates[index]) }
        }
        return found
    }
}
