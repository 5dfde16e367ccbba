package import PushModel
package import Store
import StoreKit

/// The table `act`: what operators have done.
package enum ActTable {
    /// Writes an entry of an act.
    ///
    /// - Parameters:
    ///   - act: The act.
    ///   - state: What has become of it by now.
    ///   - result: What came of it.
    ///   - wall: The time.
    /// - Returns: The statement, of which an app that it names has its number.
    package static func insertion(
        _ act: NewAct,
        _ state: Act.State = .done,
        result: String? = nil,
        at wall: Timestamp
    ) -> SQLStatement {
        let app: SQLStatement = act.app.map { .app($0) } ?? "NULL"
        let ended = state == .begun ? nil : wall
        return """
            INSERT INTO act(app, at, actor, via, origin, kind, "user", target, request, state, ended, result) VALUES (
                \(app), \(wall), \(act.by), \(act.via.rawValue), \(act.origin.storable), \(act.kind.rawValue),
                \(act.user?.key.text), \(act.target?.storable), \(act.request?.description), \(state.rawValue), \(ended),
                \(result?.storable))
            """
    }

    /// Ends an act that has begun.
    fileprivate static func end(
        _ number: Int64,
        _ state: Act.State,
        result: String?,
        at wall: Timestamp
    ) -> SQLStatement {
        """
        UPDATE act SET state = \(state.rawValue), ended = \(wall), result = \(result?.storable)
        WHERE number = \(number) AND state = \(Act.State.begun.rawValue)
        """
    }

    /// Entries that name a user, of whom there are some at a time.
    static func naming(_ user: UserName, app: Int64) -> SQLStatement {
        """
        SELECT number FROM act WHERE app = \(app) AND actor = \(user.caller)
        UNION ALL SELECT number FROM act WHERE app = \(app) AND "user" = \(user.key.text)
        """
    }

    /// Puts a digest in the place of a user's name in some entries, and changes nothing else of them.
    static func forget(_ user: UserName, in numbers: [Int64], digest: Int64) -> SQLStatement {
        let digits = String(UInt64(bitPattern: digest), radix: 16)
        let word = "removed:" + String(repeating: "0", count: 16 - digits.count) + digits
        return """
            UPDATE act SET actor = CASE WHEN actor = \(user.caller) THEN \(word) ELSE actor END,
                target = CASE WHEN "user" = \(user.key.text) THEN coalesce(target || ' ', '') || \(word) ELSE target END,
                "user" = CASE WHEN "user" = \(user.key.text) THEN NULL ELSE "user" END
            WHERE number IN (\(numbers: numbers))
            """
    }
}

extension SQLEngine {
    /// A transaction with the entry of the act that it is, if it is one.
    func recorded<Value: Sendable>(_ transaction: SQLTransaction<Value>) -> SQLTransaction<Value> {
        guard let act = NewAct.current else { return transaction }
        return transaction.recording(ActTable.insertion(act, at: self.clock.wall))
    }
}

extension ActStore where Self: SQLEngine {
    package func record(_ entry: ActEntry) async throws -> Int64 {
        let wall = self.clock.wall
        switch entry {
        case .new(let act, let state, let result):
            let mention = act.app.map { [SQLStatement.mention($0)] } ?? []
            let insertion = ActTable.insertion(act, state, result: result, at: wall)
            return try await self.perform(
                SQLTransaction(
                    SQLDecision(writing: mention + ["\(insertion) RETURNING number"]) { answers in
                        guard let row = answers.last?.rows.first else {
                            throw StoreError(.corrupt, "an act has no number")
                        }
                        return try row["number"]
                    }
                )
            )
        case .end(let number, let state, let result):
            let end = ActTable.end(number, state, result: result, at: wall)
            return try await self.perform(SQLTransaction(SQLDecision(writing: [end], giving: number)))
        }
    }

    package func acts(_ query: ActQuery) async throws -> Page<Act> {
        let cursors = self.cursors
        let before = try cursors.open(query.cursor, .acts, of: query.app) ?? .max
        let limit = min(max(1, query.limit), 1000)
        var (found, last) = ([Act](), Int64?.none)
        // An index has each author's in the order of the list, and those of several one after another: so each is asked for by itself.
        for one in query.ofOneAuthorEach {
            let (acts, end) = try await self.acts(one, before: before, limit: limit)
            found += acts
            // What lies below was not looked through for all of them.
            if let end { last = max(last ?? end, end) }
        }
        if query.by.count > 1 { found = found.filter { $0.id >= last ?? 0 }.sorted { $0.id > $1.id } }
        let page = Page(
            found,
            limit: limit,
            cursor: { cursors.seal($0.id, .acts, of: query.app) },
            item: { $0 }
        )
        guard page.cursor == nil, let last else { return page }
        return Page(items: page.items, cursor: cursors.seal(last, .acts, of: query.app))
    }

    /// The acts of one author, or of anybody: one more than the limit where there are more, and where looking for them ended before the
    /// end of the list.
    private func acts(_ query: ActQuery, before: Int64, limit: Int) async throws -> ([Act], end: Int64?) {
        var last: Int64?
        if let end = query.end(before: before) { last = try await self.rows(end).first.map { try $0["number"] } }
        let rows = try await self.rows(
            """
            SELECT act.number, act.at, act.actor, act.via, act.origin, act.kind, act."user", act.target, act.request, act.state,
                act.ended, act.result, app.name AS app_name
            FROM act LEFT JOIN app ON app.number = act.app
            WHERE \(query.conditions(before: before, from: last ?? 0)) ORDER BY act.number DESC LIMIT \(limit + 1)
            """
        )
        return (try rows.map { try Act($0) }, last)
    }
}

extension ActQuery {
    /// The most entries that a page looks at, where no index finds those that are asked for.
    private static let most = 5_000

    /// How long a send may take to end once it is stopped, for its act to be found by its end.
    private static let ending: Int64 = 300_000

    /// The same query for each of its authors.
    fileprivate var ofOneAuthorEach: [ActQuery] {
        guard self.by.count > 1 else { return [self] }
        return self.by.map { author in
            var query = self
            query.by = [author]
            return query
        }
    }

    /// Whose entries an index has in the order of the list.
    private var indexed: SQLStatement {
        let app: SQLStatement = self.app.map { "act.app = \(SQLStatement.app($0))" } ?? "1 = 1"
        guard self.app != nil else { return app }
        if let by = self.by.first { return "\(app) AND act.actor = \(by)" }
        if let kind = self.kind { return "\(app) AND act.kind = \(kind.rawValue)" }
        return app
    }

    /// What else is asked for.
    private var others: [SQLStatement] {
        var conditions: [SQLStatement] = []
        if let kind = self.kind, self.app == nil || !self.by.isEmpty {
            conditions.append("coalesce(act.kind, '') = \(kind.rawValue)")
        }
        if let by = self.by.first, self.app == nil { conditions.append("coalesce(act.actor, '') = \(by)") }
        if let state = self.state { conditions.append("act.state = \(state.rawValue)") }
        if let since = self.since { conditions.append("act.at >= \(since)") }
        if let job = self.job { conditions.append(Self.isOf(job)) }
        return conditions
    }

    /// Whether an entry is of a send: by its id, or of all that matched while it was stopped.
    private static func isOf(_ job: OfJob) -> SQLStatement {
        let single: SQLStatement = "act.target = \(job.id.description) OR act.result = \("job \(job.id)")"
        guard let finished = job.finished else { return "(\(single))" }
        let earliest = Timestamp(milliseconds: finished.milliseconds - Self.ending)
        return """
            (\(single) OR substr(act.target, 1, \(raw: "\(OfJob.group.count)")) = \(OfJob.group)
                AND act.at <= \(finished) AND act.ended >= \(earliest))
            """
    }

    /// Finds the entry at which looking for a page ends; nil, or no row, for the end of the list.
    fileprivate func end(before: Int64) -> SQLStatement? {
        guard !self.others.isEmpty else { return nil }
        return """
            SELECT act.number FROM act WHERE \(self.indexed) AND act.number < \(before)
            ORDER BY act.number DESC LIMIT 1 OFFSET \(raw: "\(Self.most)")
            """
    }

    fileprivate func conditions(before: Int64, from: Int64) -> SQLStatement {
        let range: SQLStatement = "act.number < \(before) AND act.number >= \(from)"
        return SQLStatement(joining: [self.indexed, range] + self.others, with: " AND ")
    }
}

extension Act {
    fileprivate init(_ row: SQLRow) throws {
        guard let via = ActVia(rawValue: try row["via"]), let state = State(rawValue: try row["state"]) else {
            throw StoreError(.corrupt, "an act has an unknown way or state")
        }
        self.init(
            id: try row["number"],
            act: NewAct(
                app: try (row["app_name"] as String?).map { try AppID(stored: $0) },
                by: try row["actor"],
                via: via,
                origin: try row["origin"],
                kind: ActKind(rawValue: try row["kind"]),
                user: try (row["user"] as String?).map { try UserName(stored: $0, shown: nil) },
                target: try row["target"],
                request: try (row["request"] as String?).flatMap { RequestID($0) }
            ),
            at: try row["at"],
            state: state,
            ended: try row["ended"],
            result: try row["result"]
        )
    }
}
