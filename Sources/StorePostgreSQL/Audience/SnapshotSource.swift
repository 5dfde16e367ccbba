import PushModel
import Store
import StoreKit
import StoreSQL

/// Where an audience's reader finds rows in PostgreSQL: each question is one round trip, in one snapshot.
struct SnapshotSource: RowSource {
    /// In steps of some 0.1 µs: a question, a row of a range, and a row that is looked up.
    private static let (questionCost, rowCost, seekCost) = (500, 3, 20)

    private let snapshot: Snapshot
    /// Of the expression's tags, nil for one that no registration ever had; the live ones come last.
    private let ranges: [TagRange?]
    private let kind: RegistrationKind
    private let numbers: KnownNumbers
    /// Behind where each range was read last.
    private var gaps: [RangeGap]
    private(set) var cost = 0

    init(_ snapshot: Snapshot, _ terms: AudienceTerms, _ query: AudienceQuery, _ numbers: KnownNumbers) {
        (self.snapshot, self.kind, self.numbers) = (snapshot, query.kind, numbers)
        self.ranges =
            terms.tags.map { tag in tag.map { TagRange($0, slot: query.slot) } }
            + [TagRange(liveOf: terms.app, slot: query.slot)]
        self.gaps = self.ranges.map { $0 == nil ? .everything : RangeGap() }
    }

    /// The last row that there is.
    func lastRow() throws -> Int64 {
        try self.rows(CampaignTable.highest).first?["last"] ?? 0
    }

    private func rows(_ statement: SQLStatement) throws -> [SQLRow] {
        try self.snapshot.rows(PostgreSQLStatement(shared: statement))
    }

    private func index(of range: RowRange) -> Int {
        switch range {
        case .tag(let index): index
        case .live: self.ranges.count - 1
        }
    }

    /// See ``RowSource/next(of:from:)``.
    func next(of range: RowRange, from row: Int64) -> Int64 { self.gaps[self.index(of: range)].end(from: row) }

    /// See ``RowSource/collect(_:within:base:count:into:)``.
    mutating func collect(
        _ range: RowRange,
        within wanted: RowSet,
        base: Int64,
        count: Int,
        into found: inout RowSet
    ) throws -> Bool {
        let index = self.index(of: range)
        guard let first = wanted.next(from: 0), let range = self.ranges[index] else { return false }
        let start = self.gaps[index].end(from: base + Int64(first)) - base
        guard start < Int64(count) else { return false }
        let rows = Self.rows(wanted, from: Int(start), base: base)
        guard let low = rows.first, let high = rows.last else { return false }
        let isDense = Int64(rows.count) * 8 > high - low
        let answer = try self.rows(range.among(rows, isDense: isDense)).first
        let (having, next) = (try ByteList.numbers(answer?.bytes("numbers")), try answer?.number("next"))
        self.cost += Self.questionCost + (isDense ? having.count * Self.rowCost : rows.count * Self.seekCost)
        self.gaps[index] = RangeGap(from: (isDense ? having.last.map { $0 + 1 } ?? low : high + 1), next: next ?? .max)
        var isFound = false
        for row in having where wanted.contains(Int(row - base)) {
            found.insert(Int(row - base))
            isFound = true
        }
        return isFound
    }

    private static func rows(_ wanted: RowSet, from first: Int, base: Int64) -> [Int64] {
        var rows: [Int64] = []
        var bit = wanted.next(from: first)
        while let present = bit {
            rows.append(base + Int64(present))
            bit = wanted.next(from: present + 1)
        }
        return rows
    }

    /// See ``RowSource/handles(of:base:into:)``.
    mutating func handles(of rows: RowSet, base: Int64, into page: inout AudiencePage) throws {
        let wanted = Self.rows(rows, from: 0, base: base)
        guard !wanted.isEmpty else { return }
        let devices: SQLStatement = """
            SELECT \(raw: DeviceList.ofRegistration) FROM registration
            WHERE "row" = ANY(\(SQLArray.integers(wanted))) ORDER BY "row"
            """
        let list = try DeviceList(self.rows(DeviceList.reading(devices)))
        self.cost += Self.questionCost + wanted.count * Self.seekCost
        let credentials = Set(list.credentials)
        var names = self.numbers.credentials(credentials)
        let unknown = credentials.filter { names[$0] == nil }
        if !unknown.isEmpty {
            try self.numbers.keep(self.rows(KnownNumbers.names(of: unknown.sorted())))
            names = self.numbers.credentials(credentials)
        }
        try list.append(to: &page, names, self.kind)
    }

    /// See ``RowSource/span(of:from:)``.
    mutating func span(of index: Int, from base: Int64) throws -> Int64 {
        guard let range = self.ranges[index] else { return .max }
        self.cost += Self.questionCost
        guard let row = try self.rows(range.sixteenth(from: base)).first else { return .max }
        return try row["row"] - base
    }
}

extension SQLRow {
    /// Columns that may be NULL.
    fileprivate func bytes(_ column: String) throws -> [UInt8]? { try self[column] }
    fileprivate func number(_ column: String) throws -> Int64? { try self[column] }
}
