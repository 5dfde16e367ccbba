import PushModel
import Store
import StoreKit

/// Finds wanted rows in an index range, and remembers the gaps behind them.
struct RowWalker: RowSource {
    private struct Window {
        /// Bit i is the row `base + i`.
        let wanted: RowSet
        let base: Int64
        /// The number of rows from the base on.
        let count: Int
    }

    static let tagged = TagQuery(rows: "pns = ?3 AND row >= ?4 ORDER BY row")
    static let live =
        "SELECT row FROM registration WHERE app = ?1 AND pns = ?2 AND \(KeptRegistration.live) AND row >= ?3 ORDER BY row"
    static let spanned = TagQuery(rows: "pns = ?3 AND row >= ?4 ORDER BY row LIMIT 1 OFFSET 15")
    static let handles = "SELECT row, handle, credential, template FROM registration WHERE row >= ?1 ORDER BY row"

    /// Rows that are stepped over before SQLite is asked to seek.
    private static let maximumMisses = 16
    /// The cost of a seek, in steps.
    private static let seekCost = 8

    private let database: Database
    private let tags: [StoredTag?]
    private let app: Int64
    private let pns: Int64
    private let kind: RegistrationKind
    /// Behind where each range was read last; the live ones come last.
    private var gaps: [RangeGap]
    /// Steps, and seeks with their weight.
    private(set) var cost = 0

    init(database: Database, terms: AudienceTerms, query: AudienceQuery) {
        self.database = database
        (self.tags, self.app) = (terms.tags, terms.app)
        (self.pns, self.kind) = (Int64(query.slot), query.kind)
        self.gaps = terms.tags.map { $0 == nil ? .everything : RangeGap() } + [RangeGap()]
    }

    /// See ``RowSource/next(of:from:)``.
    func next(of range: RowRange, from row: Int64) -> Int64 { self.gaps[self.index(of: range)].end(from: row) }

    private func index(of range: RowRange) -> Int {
        switch range {
        case .tag(let index): index
        case .live: self.tags.count
        }
    }

    /// See ``RowSource/collect(_:within:base:count:into:)``.
    mutating func collect(
        _ range: RowRange,
        within wanted: RowSet,
        base: Int64,
        count: Int,
        into found: inout RowSet
    ) throws -> Bool {
        let index = self.index(of: range)
        guard let first = wanted.next(from: 0) else { return false }
        let start = self.gaps[index].end(from: base + Int64(first)) - base
        guard start < Int64(count) else { return false }
        var tag: StoredTag?
        if case .tag(let index) = range {
            tag = self.tags[index]
            guard tag != nil else { return false }
        }
        let statement = try PreparedStatement(tag.map { Self.tagged[$0] } ?? Self.live, in: self.database)
        let (app, pns) = (self.app, self.pns)
        var isFound = false
        let window = Window(wanted: wanted, base: base, count: count)
        let gap = try self.walk(statement, window, from: Int(start)) { row in
            if let tag { try statement.restart(tag, [pns, row]) } else { try statement.restart(app, pns, row) }
        } visit: { bit in
            found.insert(bit)
            isFound = true
        }
        if let gap { self.gaps[index] = gap }
        return isFound
    }

    /// See ``RowSource/handles(of:base:into:)``.
    mutating func handles(of rows: RowSet, base: Int64, into page: inout AudiencePage) throws {
        let statement = try PreparedStatement(Self.handles, in: self.database)
        var devices = DeviceColumns(statement, in: self.database, of: self.kind)
        _ = try self.walk(statement, Window(wanted: rows, base: base, count: rows.capacity), from: 0) { row in
            try statement.restart(row)
        } visit: { _ in
            try devices.append(to: &page)
        }
    }

    /// See ``RowSource/span(of:from:)``.
    mutating func span(of index: Int, from base: Int64) throws -> Int64 {
        guard let tag = self.tags[index] else { return .max }
        self.cost += Self.seekCost + Self.maximumMisses
        let statement = try PreparedStatement(Self.spanned[tag], in: self.database)
        defer { statement.reset() }
        try statement.restart(tag, [self.pns, base])
        return try statement.step() ? statement.integer(statement.column("row")) - base : .max
    }

    /// Visits the wanted rows of a range in order: steps between near rows, seeks between far ones.
    ///
    /// - Parameters:
    ///   - statement: The range; its last parameter is the first row.
    ///   - window: The wanted rows.
    ///   - first: The first bit.
    ///   - seek: Starts the statement again at a row.
    ///   - visit: Receives each bit found.
    /// - Returns: The gap behind the last row read; nil if reading ended before one.
    /// - Throws: SQLite's error.
    private mutating func walk(
        _ statement: PreparedStatement,
        _ window: Window,
        from first: Int,
        seek: (Int64) throws -> Void,
        visit: (Int) throws -> Void
    ) throws -> RangeGap? {
        defer { statement.reset() }
        let (wanted, base, count) = (window.wanted, window.base, window.count)
        let column = statement.column("row")
        var target = wanted.next(from: first)
        while let start = target {
            try seek(base + Int64(start))
            self.cost += Self.seekCost
            var next = start
            var misses = 0
            var seen = base + Int64(start)
            while misses < Self.maximumMisses {
                guard try statement.step() else { return RangeGap(from: seen, next: .max) }
                self.cost += 1
                let row = statement.integer(column)
                guard row - base < Int64(count) else { return RangeGap(from: seen, next: row) }
                seen = row + 1
                let bit = Int(row - base)
                if bit < next {
                    misses += 1
                    continue
                }
                if wanted.contains(bit) { try visit(bit) }
                guard let following = wanted.next(from: bit + 1) else { return nil }
                next = following
                misses = 0
            }
            target = next
        }
        return nil
    }
}

extension AudienceReader<RowWalker> {
    /// - Parameters:
    ///   - database: A connection within a read transaction.
    ///   - terms: The expression.
    ///   - query: Where it is read.
    ///   - limits: The limits of a page and its windows.
    /// - Throws: SQLite's error.
    init(database: Database, terms: AudienceTerms, query: AudienceQuery, limits: AudienceReadLimits) throws {
        // No window goes beyond the last row there is.
        let last = try database.highestRegistration()
        self.init(
            terms.compiled,
            source: RowWalker(database: database, terms: terms, query: query),
            through: min(query.through, last),
            limits: limits
        )
    }
}
