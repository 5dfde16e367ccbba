import Foundation
import PushModel
import SeededRandom
import Store
import StoreContract
import StoreKit
import StoreSQL
import Testing

@testable import StoreSQLite

/// Expressions read from the indexes, against the same evaluated one registration after the other.
@Suite struct AudienceExpressionTests {
    /// An expression as a test makes it up: evaluated by its meaning, written with more parentheses than are needed.
    private indirect enum Tree {
        case tag(String)
        case not(Tree)
        case all([Tree])
        case any([Tree])

        static func random(depth: Int, _ random: inout SeededGenerator) -> Tree {
            let kind = depth == 0 ? 0 : Int.random(in: 0..<8, using: &random)
            func members() -> [Tree] {
                (0..<Int.random(in: 1...4, using: &random)).map { _ in Tree.random(depth: depth - 1, &random) }
            }
            switch kind {
            case 0:
                let letter = Bool.random(using: &random) ? "t" : "T"
                return .tag("\(letter)\(Int.random(in: 0..<9, using: &random))")
            case 1, 2: return .not(Tree.random(depth: depth - 1, &random))
            case 3...5: return .all(members())
            default: return .any(members())
            }
        }

        func holds(for tags: Set<String>) -> Bool {
            switch self {
            case .tag(let name): tags.contains(name.lowercased())
            case .not(let tree): !tree.holds(for: tags)
            case .all(let members): members.allSatisfy { $0.holds(for: tags) }
            case .any(let members): members.contains { $0.holds(for: tags) }
            }
        }

        var text: String {
            switch self {
            case .tag(let name): name
            case .not(let tree): "!(\(tree.text))"
            case .all(let members): members.map { "(\($0.text))" }.joined(separator: " && ")
            case .any(let members): members.map { "(\($0.text))" }.joined(separator: "||")
            }
        }
    }

    /// A registration as the test remembers it.
    private struct Known {
        let row: Int64
        let handle: String
        /// In small letters.
        let tags: Set<String>
    }

    private static func limits(
        _ windows: ClosedRange<Int>,
        _ maximumCost: Int,
        _ windowCost: ClosedRange<Int>
    ) -> AudienceReadLimits {
        var limits = AudienceReadLimits()
        limits.windows = windows
        limits.maximumCost = maximumCost
        limits.windowCost = windowCost
        return limits
    }

    private static let allLimits = [
        AudienceReadLimits(), Self.limits(64...64, 1, 0...1), Self.limits(16...256, 300, 50...150),
    ]

    /// Registrations with and without tags, of two services and apps, some deleted; `t8` is in no registration.
    private static func populate(_ store: SQLiteStore, _ random: inout SeededGenerator) async throws -> [Known] {
        let densities = [0.9, 0.5, 0.5, 0.2, 0.05, 0.02, 0.005, 0.3]
        var rows: [(ImportedRegistration, app: AppID)] = []
        for number in 0..<600 {
            // Tags come in stretches, so that one is rare where another is not.
            let isStretch = (number / 100).isMultiple(of: 2)
            let tags = densities.indices.filter { index in
                Double.random(in: 0..<1, using: &random) < densities[index] * (isStretch == (index < 4) ? 1 : 0.2)
            }
            rows.append(
                (
                    ImportedRegistration(
                        id: RegistrationID("r\(number)"),
                        pns: Double.random(in: 0..<1, using: &random) < 0.8 ? .apns : .fcm,
                        handle: Handle(stored: "h\(number)"),
                        tags: try tags.map { try Tag("\(number.isMultiple(of: 3) ? "T" : "t")\($0)", .folded) }
                    ),
                    Double.random(in: 0..<1, using: &random) < 0.9 ? .default : try AppID("other")
                )
            )
        }
        var rest = rows[...]
        while let app = rest.first?.app {
            let group = rest.prefix { $0.app == app }
            _ = try await store.importRegistrations(group.map(\.0), app: app, sequence: 1, lifetime: nil)
            rest = rest.dropFirst(group.count)
        }
        for number in 0..<600 where number % 17 == 3 {
            let id = try #require(RegistrationID("r\(number)"))
            _ = try await store.register(.delete(id), of: RegisterJob(app: rows[number].app, sequence: 2))
        }
        var known: [Known] = []
        for (number, (row, app)) in rows.enumerated() where app == .default && row.pns == .apns && number % 17 != 3 {
            let id = try #require(row.id)
            let stored = try #require(try await store.registration(id, app: app))
            known.append(
                Known(row: stored.row, handle: row.handle.text, tags: Set(row.tags.map { $0.name.lowercased() }))
            )
        }
        return known.sorted { $0.row < $1.row }
    }

    private static func terms(_ expression: TagExpression, _ database: Database) throws -> AudienceTerms {
        let app = try database.number(of: .default) ?? 0
        let finder = try TagFinder(database, app: app)
        return AudienceTerms(
            expression: expression,
            compiled: CompiledExpression(expression),
            app: app,
            tags: try expression.tags.map(finder.find)
        )
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func anExpressionSelectsItsAudience(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let keep = try TemporaryStore()
        let store = keep.store
        let known = try await Self.populate(store, &random)
        let last = try #require(known.last?.row)
        for _ in 0..<120 {
            let tree = Tree.random(depth: Int.random(in: 0...4, using: &random), &random)
            let expression = try TagExpression(parsing: tree.text, .folded)
            let limits = Self.allLimits.randomElement(using: &random) ?? AudienceReadLimits()
            let limit = Int.random(in: 1...200, using: &random)
            let from = Int64.random(in: 0...last, using: &random) * Int64.random(in: 0...1, using: &random)
            let through = Bool.random(using: &random) ? .max : Int64.random(in: from...(last + 5), using: &random)
            let meant = known.filter { $0.row > from && $0.row <= through && tree.holds(for: $0.tags) }

            var rows: [Int64] = []
            var handles: [String] = []
            var counted = 0
            var after = from
            while after < through {
                let start = after
                let page = try await store.read { database in
                    var reader = try AudienceReader(
                        database: database,
                        terms: Self.terms(expression, database),
                        query: AudienceQuery(.expression(expression), app: .default, pns: .apns, through: through),
                        limits: limits
                    )
                    return try reader.page(after: start, through: through, limit: limit)
                }
                try #require(page.rows.count <= limit && page.scannedThrough > after)
                rows += page.rows
                handles += page.rows.indices.map { page.handles.handle(at: $0).text }
                after = page.scannedThrough
            }
            #expect(rows == meant.map(\.row), "\(expression)")
            #expect(handles == meant.map(\.handle), "\(expression)")

            after = from
            while after < through {
                let slice = try await store.count(
                    AudienceQuery(.expression(expression), app: .default, pns: .apns, after: after, through: through)
                )
                try #require(slice.scannedThrough > after)
                counted += slice.count
                after = slice.scannedThrough
            }
            #expect(counted == meant.count, "\(expression)")

            let asked = (0..<40).map { _ in Int64.random(in: 1...(last + 5), using: &random) }
            let found = try await store.audience(
                AudienceQuery(.expression(expression), app: .default, pns: .apns, rows: asked)
            ).addresses
            let isMeant = known.filter { asked.contains($0.row) && tree.holds(for: $0.tags) }
            #expect(found.keys.sorted() == isMeant.map(\.row), "\(expression)")
        }
    }

    @Test func anAppWithoutRegistrationsHasNoAudience() async throws {
        let store = try TemporaryStore()
        let everybody = try TagExpression(parsing: "!a", .folded)
        let app = try AppID("new")
        let page = try await store.store
            .audience(AudienceQuery(.expression(everybody), app: app, pns: .apns, through: 50, limit: 5))
        #expect(page.rows.isEmpty && page.scannedThrough == 50)
        #expect(try await store.store.count(AudienceQuery(.expression(everybody), app: app, pns: .apns)).count == 0)
        #expect(
            try await store.store.audience(AudienceQuery(.expression(everybody), app: app, pns: .apns, rows: [1]))
                .addresses.isEmpty
        )
    }

    /// A tag that gets its first device while a send to those without it goes out.
    @Test func aTagThatIsNewMeanwhileIsHeeded() async throws {
        let keep = try TemporaryStore()
        try await Self.spread(keep.store, rows: 100, step: 1)
        let expression = try TagExpression(parsing: "all && !late", .folded)
        var query = AudienceQuery(.expression(expression), app: .default, pns: .apns, through: 100, limit: 10)
        query.memory = AudienceMemory()
        #expect(try await keep.store.audience(query).rows == Array(1...10))
        try await keep.store.write { context in
            let app = try context.database.ensureNumber(of: .default)
            try context.database.execute(
                sql: """
                    INSERT INTO tag_name(number, app, name) VALUES (5, \(app), 'late');
                    INSERT INTO tagged SELECT 5, 1, row FROM registration WHERE row > 12;
                    """
            )
        }
        query.after = 10
        #expect(try await keep.store.audience(query).rows == [11, 12])
        #expect(try await keep.store.count(query).count == 2)
    }

    /// What the first look made of it is what all others of its send read by, whatever they ask for.
    @Test func anExpressionIsCompiledOnceAMessage() async throws {
        let keep = try TemporaryStore()
        try await Self.spread(keep.store, rows: 100, step: 1)
        let expression = try TagExpression(parsing: "all && !odd", .folded)
        var query = AudienceQuery(.expression(expression), app: .default, pns: .apns, through: 100, limit: 5)
        query.memory = AudienceMemory()
        #expect(try await keep.store.audience(query).rows == [2, 4, 6, 8, 10])
        let made = try #require(query.memory?.recall(AudienceTerms.self))
        // Another's in its place: whoever compiles the expression anew does not see it.
        let other = CompiledExpression(try TagExpression(parsing: "all && odd", .folded))
        query.memory?.keep(AudienceTerms(expression: expression, compiled: other, app: made.app, tags: made.tags))
        query.after = 10
        #expect(try await keep.store.audience(query).rows == [11, 13, 15, 17, 19])
        #expect(try await keep.store.count(query).count == 45)
        query.rows = Array(11...14)
        #expect(try await keep.store.audience(query).addresses.keys.sorted() == [11, 13])
        // Of another send it is another's work.
        query.memory = AudienceMemory()
        #expect(try await keep.store.audience(query).addresses.keys.sorted() == [12, 14])
    }

    // MARK: Cost

    /// Rows far apart, as a store has them after years: `all` on each, `even` and `odd` in turn, `rare` on 10.
    private static func spread(_ store: SQLiteStore, rows: Int, step: Int) async throws {
        try await store.write { context in
            let app = try context.database.ensureNumber(of: .default)
            try context.database.execute(
                sql: """
                    INSERT INTO tag_name(number, app, name) VALUES (1, \(app), 'all'), (2, \(app), 'even'), (3, \(app), 'odd'),
                        (4, \(app), 'rare');
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                    INSERT INTO registration(row, app, id, pns, handle, state, version, updated)
                        SELECT i * \(step), \(app), 'r' || i, 1, 'h' || i, 1, 1, 1 FROM n;
                    INSERT INTO tagged SELECT 1, 1, row FROM registration;
                    INSERT INTO tagged SELECT 2 + (row / \(step)) % 2, 1, row FROM registration;
                    INSERT INTO tagged SELECT 4, 1, row FROM registration
                        WHERE (row / \(step)) % (\(rows) / 10) = 7;
                    """
            )
        }
    }

    private func cost(_ text: String, in store: SQLiteStore, limit: Int = 1000) async throws -> (
        cost: Int, page: AudiencePage
    ) {
        let expression = try TagExpression(parsing: text, .folded)
        return try await store.read { database in
            var reader = try AudienceReader(
                database: database,
                terms: Self.terms(expression, database),
                query: AudienceQuery(.expression(expression), app: .default, pns: .apns, through: .max),
                limits: AudienceReadLimits()
            )
            let page = try reader.page(after: 0, through: .max, limit: limit)
            return (reader.cost, page)
        }
    }

    /// What few have is read by seeking: the many that one of the tags has are never walked through.
    @Test(arguments: [
        "rare && all", "all && rare", "all && even && rare || rare && odd", "rare && !missing",
        "all && !missing && rare",
        "rare && (odd || all)", "!(!rare || !all)", "rare || missing",
    ])
    func theRarestTagIsReadFirst(text: String) async throws {
        let keep = try TemporaryStore()
        try await Self.spread(keep.store, rows: 5000, step: 200)
        let (cost, page) = try await self.cost(text, in: keep.store)
        #expect(page.rows.count == 10)
        #expect(page.scannedThrough == .max)
        #expect(cost < 4000, "\(cost)")
    }

    /// An audience of nobody in a wide range: pages end early, and the next goes on.
    @Test func aPageEndsAtItsCostLimit() async throws {
        let keep = try TemporaryStore()
        try await Self.spread(keep.store, rows: 40_000, step: 3)
        let expression = try TagExpression(parsing: "even && odd", .folded)
        let slow = Self.limits(1024...65_536, 5000, 2000...8000)
        var after: Int64 = 0
        var pages = 0
        while after < 120_000 {
            let start = after
            let (page, cost) = try await keep.store.read { database in
                var reader = try AudienceReader(
                    database: database,
                    terms: Self.terms(expression, database),
                    query: AudienceQuery(.expression(expression), app: .default, pns: .apns, through: 120_000),
                    limits: slow
                )
                return (try reader.page(after: start, through: 120_000, limit: 1000), reader.cost)
            }
            #expect(page.rows.isEmpty)
            #expect(cost < 20_000)
            try #require(page.scannedThrough > after)
            after = page.scannedThrough
            pages += 1
        }
        #expect(pages > 2)
    }

    /// Each device has each of many tags, and the expression names them all: a window of thousands of rows would take many seconds, and is
    /// given up.
    @Test func aDearExpressionIsReadInSmallSteps() async throws {
        let keep = try TemporaryStore()
        let (rows, tags) = (3000, 60)
        try await keep.store.write { context in
            let app = try context.database.ensureNumber(of: .default)
            try context.database.execute(
                sql: """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                    INSERT INTO registration(row, app, id, pns, handle, state, version, updated)
                        SELECT i, \(app), 'r' || i, 1, 'h' || i, 1, 1, 1 FROM n;
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(tags))
                    INSERT INTO tag_name(number, app, name) SELECT i, \(app), 't' || i FROM n;
                    INSERT INTO tagged SELECT number, 1, row FROM tag_name, registration;
                    """
            )
        }
        // Three times each: a tag that stands there more often is read once a window.
        let operands = (0..<180).map { "(t\($0 % tags + 1) || none)" }
        let expression = try TagExpression(parsing: operands.joined(separator: " && "), .folded)
        let limits = Self.limits(1024...65_536, 40_000, 2000...20_000)
        var (after, found, steps) = (Int64(0), 0, 0)
        while after < rows {
            let start = after
            let (slice, cost) = try await keep.store.read { database in
                var reader = try AudienceReader(
                    database: database,
                    terms: Self.terms(expression, database),
                    query: AudienceQuery(.expression(expression), app: .default, pns: .apns, through: .max),
                    limits: limits
                )
                return (try reader.count(after: start, through: .max), reader.cost)
            }
            // The limit of a page, a window that is given up, and the smallest of 64 rows.
            #expect(cost < 40_000 + 2 * 20_000 + 64 * 360, "\(cost)")
            try #require(slice.scannedThrough > after)
            (after, found, steps) = (slice.scannedThrough, found + slice.count, steps + 1)
        }
        #expect(found == rows && steps > 5)
    }

    /// A tag that an expression names again and again is read once for all of them.
    @Test func aTagThatIsNamedOftenIsReadOnce() async throws {
        let keep = try TemporaryStore()
        try await Self.spread(keep.store, rows: 5000, step: 1)
        let once = try await self.cost("(all || even) && (odd || all)", in: keep.store, limit: 6000)
        let text = [String](repeating: "(all || even) && (odd || all)", count: 400).joined(separator: " && ")
        let often = try await self.cost(text, in: keep.store, limit: 6000)
        #expect(once.page.rows == often.page.rows && often.page.rows.count == 5000)
        #expect(often.cost < 8 * once.cost, "\(often.cost) instead of \(once.cost)")
    }

    struct Large: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let count: Int
    }

    private static func nest(_ count: Int, _ open: String, _ inner: String, _ close: String) -> String {
        String(repeating: open, count: count) + inner + String(repeating: close, count: count)
    }

    static let large = [
        Large(testDescription: "to the right", text: Self.nest(5000, "all&&(even||(", "rare", "))"), count: 510),
        Large(testDescription: "to the left", text: Self.nest(10_000, "(", "rare", "||odd)&&all"), count: 500),
        Large(testDescription: "not", text: Self.nest(10_001, "!(even||", "rare", ")"), count: 490),
        Large(testDescription: "or", text: (0..<5000).map { "t\($0)||" }.joined() + "rare", count: 10),
        Large(testDescription: "and", text: (0..<5000).map { "!t\($0)&&" }.joined() + "even", count: 500),
    ]

    /// As large and as deep as they come: no stack overflows, and the rows are those that are meant.
    @Test(arguments: large)
    func expressionsOfAnySizeAreEvaluated(large: Large) async throws {
        let keep = try TemporaryStore()
        try await Self.spread(keep.store, rows: 1000, step: 2)
        // Larger than one that is written today: a job of an older version may have it.
        let expression = try TagExpression(stored: large.text, .folded)
        var found = 0
        var after: Int64 = 0
        while after < .max {
            let slice = try await keep.store.count(
                AudienceQuery(.expression(expression), app: .default, pns: .apns, after: after)
            )
            found += slice.count
            try #require(slice.scannedThrough > after)
            after = slice.scannedThrough
        }
        #expect(found == large.count)
    }
}
