package import PushModel
package import Store
package import StoreKit

/// What a driver reads of audiences, its own way, for it is the hot path of a campaign: each call is one read of bounded cost.
package protocol AudienceEngine: SQLEngine, AudienceStore {
    /// The devices of a job's list.
    func recipients(_ query: AudienceQuery) async throws -> AudiencePage

    /// The devices of a piece of an audience.
    func page(of terms: AudienceTerms, _ query: AudienceQuery) async throws -> AudiencePage

    /// How many they are.
    func count(of terms: AudienceTerms, _ query: AudienceQuery) async throws -> AudienceCount

    /// Those of the first of some rows, ascending, that are in an audience, and the rows that it did not come to.
    func members(of terms: AudienceTerms, among rows: ArraySlice<Int64>, _ query: AudienceQuery) async throws -> (
        page: AudiencePage, rest: ArraySlice<Int64>
    )

    /// The rows of the next tags of a search, and how many tags these are.
    func rows(for search: RowSearch) async throws -> (rows: [Int64], tags: Int)

    /// Those of some rows, ascending, that are live and have one of the tags.
    func live(_ rows: ArraySlice<Int64>, having tags: Set<StoredTag>, _ query: AudienceQuery) async throws
        -> AudiencePage
}

extension AudienceEngine {
    package func audience(_ query: AudienceQuery) async throws -> AudiencePage {
        let end = AudiencePage(scannedThrough: max(query.after, query.through))
        guard query.limit > 0, query.after < query.through else { return end }
        guard let expression = try await self.expression(of: query) else { return try await self.recipients(query) }
        let many = ManyTags(expression, query, store: self)
        if let rows = query.rows?.sorted() {
            if let many { return try await many.live(rows) }
            return try await self.live(rows[...], in: expression, query)
        }
        let page: AudiencePage
        if let many {
            page = try await many.page()
        } else {
            guard var terms = try await self.terms(of: expression, query) else { return end }
            page = try await self.read(&terms, of: expression, query) { try await self.page(of: $0, query) }
        }
        return query.kind == .template ? try await self.withTemplates(page, query) : page
    }

    package func count(_ query: AudienceQuery) async throws -> AudienceCount {
        let end = AudienceCount(count: 0, scannedThrough: max(query.after, query.through))
        guard query.after < query.through else { return end }
        guard let expression = try await self.expression(of: query) else {
            let page = try await self.recipients(query)
            return AudienceCount(count: page.rows.count, scannedThrough: page.scannedThrough)
        }
        if let many = ManyTags(expression, query, store: self) { return try await many.count() }
        guard var terms = try await self.terms(of: expression, query) else { return end }
        return try await self.read(&terms, of: expression, query) { try await self.count(of: $0, query) }
    }

    /// Those of some rows, ascending, that are in an audience.
    private func live(_ rows: ArraySlice<Int64>, in expression: TagExpression, _ query: AudienceQuery) async throws
        -> AudiencePage
    {
        var (found, rest) = (AudiencePage(scannedThrough: query.through), rows)
        guard var terms = try await self.terms(of: expression, query) else { return found }
        while !rest.isEmpty {
            try Task.checkCancellation()
            let rows = rest
            let piece = try await self.read(&terms, of: expression, query) {
                try await self.members(of: $0, among: rows, query)
            }
            found.append(piece.page)
            rest = piece.rest
        }
        found.scannedThrough = query.through
        return found
    }

    /// The expression that selects an audience; nil if that is a list.
    private func expression(of query: AudienceQuery) async throws -> TagExpression? {
        switch query.subject {
        case .expression(let expression): return expression
        case .recipients: return nil
        case .tags(let job):
            if let known = query.memory?.recall(TagExpression.self) { return known }
            let rows = try await self.rows(.audienceTags(of: job), size: .long)
            guard let lines: String = try rows.first?["tags"] else {
                throw StoreError(.corrupt, "a job's audience is missing")
            }
            let whole = try TagExpression.any(StoredWork.tags(in: lines))
            query.memory?.keep(whole)
            return whole
        }
    }

    /// Reads by an expression's terms, and again if a tag without a number got one meanwhile.
    ///
    /// Numbers are looked up in a read of their own. A device that brings a tag's first use between both would seem not to have the tag, and
    /// get what is for those without it.
    private func read<Value: Sendable>(
        _ terms: inout AudienceTerms,
        of expression: TagExpression,
        _ query: AudienceQuery,
        _ read: (AudienceTerms) async throws -> Value
    ) async throws -> Value {
        while true {
            let value = try await read(terms)
            guard terms.tags.contains(nil), let newer = try await self.terms(of: expression, known: terms, query),
                newer.tags != terms.tags
            else { return value }
            terms = newer
        }
    }

    /// An expression with its tags' numbers as far as they are known; nil if the app has no registration.
    private func terms(of expression: TagExpression, _ query: AudienceQuery) async throws -> AudienceTerms? {
        if let known = query.memory?.recall(AudienceTerms.self) { return known }
        return try await self.terms(of: expression, known: nil, query)
    }

    private func terms(
        of expression: TagExpression,
        known: AudienceTerms?,
        _ query: AudienceQuery
    ) async throws -> AudienceTerms? {
        // Numbers never change; a tag without one may get it.
        var tags = known?.tags ?? [StoredTag?](repeating: nil, count: expression.tags.count)
        let unknown = tags.indices.filter { tags[$0] == nil }
        guard let found = try await self.stored(unknown.map { expression.tags[$0] }, app: query.app) else { return nil }
        for (index, tag) in zip(unknown, found.tags) { tags[index] = tag }
        let terms = AudienceTerms(
            expression: expression,
            compiled: known?.compiled ?? CompiledExpression(expression),
            app: found.app,
            tags: tags
        )
        query.memory?.keep(terms)
        return terms
    }
}

extension SQLEngine {
    /// The store's numbers of an app and of tags, nil for a tag that no registration ever had; nil for an app without one.
    package func stored(_ tags: [Tag], app: AppID) async throws -> (app: Int64, tags: [StoredTag?])? {
        var (number, found) = (Int64?.none, [StoredTag?]())
        repeat {
            // So many take some 20 ms.
            let some = tags[found.count...].prefix(8192)
            // A user's own tag stands in no table.
            let names = some.filter { $0.owner == nil }.map(\.key)
            let (apps, known) = try await self.rows(
                .number(of: app),
                "SELECT number, name FROM tag_name WHERE app = \(SQLStatement.app(app)) AND name IN (\(texts: names))",
                size: .long
            )
            guard let app: Int64 = try apps.first?["number"] else { return nil }
            var numbers: [ExactText: Int64] = [:]
            for row in known { numbers[ExactText(try row["name"])] = try row["number"] }
            number = app
            found += some.map { tag in
                tag.owner.map { .user($0, app: app) } ?? numbers[ExactText(tag.key)].map(StoredTag.number)
            }
        } while found.count < tags.count
        return number.map { ($0, found) }
    }
}

extension SQLStatement {
    /// The tags of a send to very many, which stand in lines beside its job.
    package static func audienceTags(of job: Int64) -> SQLStatement { "SELECT tags FROM audience WHERE job = \(job)" }
}
