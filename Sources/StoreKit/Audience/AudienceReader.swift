import PushModel
package import Store

/// Reads an audience in windows of rows, evaluating an expression with one bit a row.
///
/// An operand is read only for rows that the operands before it left undecided, by seeking between such rows where they
/// are far apart. ``cost`` counts the reading, with 1 for a row that the source steps over. A window that turns out dear is given up
/// and read again as smaller ones, so that nobody waits long for the end of a page, whatever the expression is.
package struct AudienceReader<Source: RowSource> {
    private let compiled: CompiledExpression
    private let through: Int64
    private let limits: AudienceReadLimits
    private var source: Source
    private var ownCost = 0
    /// The cost at which the window that is being read is given up.
    private var end = Int.max
    /// The rows of the window with tags that the expression names often.
    private var kept: [Int: RowSet] = [:]

    /// The cost so far, in steps.
    package var cost: Int { self.ownCost + self.source.cost }

    /// - Parameters:
    ///   - compiled: Which tags.
    ///   - source: Where the rows with its tags are found.
    ///   - through: The last row that counts, and not beyond the last there is.
    ///   - limits: How much is read at a time.
    package init(_ compiled: CompiledExpression, source: Source, through: Int64, limits: AudienceReadLimits) {
        self.compiled = compiled
        self.source = source
        self.through = through
        self.limits = limits
    }

    /// The rows after `after`, at most `limit`, with their handles.
    package mutating func page(after: Int64, through: Int64, limit: Int) throws -> AudiencePage {
        var page = AudiencePage(scannedThrough: after)
        page.rows.reserveCapacity(limit)
        page.handles.reserveCapacity(limit, bytes: limit * 64)
        var size = min(max(limit * 2, self.limits.windows.lowerBound), self.affordableRows)
        while let window = try self.nextWindow(after: page.scannedThrough, size: &size) {
            let capacity = limit - page.rows.count
            let isFull = window.rows.count > capacity
            let rows = isFull ? window.rows.prefix(capacity) : window.rows
            try self.source.handles(of: rows, base: window.base, into: &page)
            page.scannedThrough = isFull ? page.rows.last ?? window.end : window.end
            if page.rows.count == limit || self.cost >= self.limits.maximumCost { break }
        }
        if page.scannedThrough >= self.through { page.scannedThrough = through }
        return page
    }

    /// How many rows there are after `after`, and how far that is known.
    package mutating func count(after: Int64, through: Int64) throws -> AudienceCount {
        var count = AudienceCount(count: 0, scannedThrough: after)
        var size = self.affordableRows
        while let window = try self.nextWindow(after: count.scannedThrough, size: &size) {
            count.count += window.rows.count
            count.scannedThrough = window.end
            if self.cost >= self.limits.maximumCost { break }
        }
        if count.scannedThrough >= self.through { count.scannedThrough = through }
        return count
    }

    /// The rows in the audience among the first of some, with their handles.
    ///
    /// - Parameter rows: The rows, ascending; those that were looked at are taken off, the others wait for the next transaction.
    /// - Returns: Those that are in it.
    /// - Throws: The store's error.
    package mutating func handles(of rows: inout ArraySlice<Int64>) throws -> AudiencePage {
        var page = AudiencePage(scannedThrough: 0)
        // Each may take a seek for each leaf.
        let most = max(1, self.affordableRows / 16)
        while let base = rows.first, self.cost < self.limits.maximumCost {
            guard base <= self.through else {
                rows = []
                break
            }
            let group = rows.prefix(most).prefix {
                $0.clampedSubtracting(base) < Int64(self.limits.windows.upperBound) && $0 <= self.through
            }
            rows = rows.dropFirst(group.count)
            var wanted = RowSet(capacity: self.limits.windows.upperBound)
            for row in group { wanted.insert(Int(row - base)) }
            let found = try self.matches(within: wanted, base: base, count: self.limits.windows.upperBound)
            try self.source.handles(of: found, base: base, into: &page)
        }
        return page
    }

    /// How many rows may be looked at in one go, where each has every tag of the expression.
    private var affordableRows: Int {
        let rows = 2 * self.limits.windowCost.upperBound / max(1, self.compiled.leaves)
        return min(max(rows, self.smallest), self.limits.windows.upperBound)
    }

    /// The rows of a window that is not given up.
    private var smallest: Int { min(self.limits.smallestWindow, self.limits.windows.lowerBound) }

    // MARK: Evaluation

    /// Rows that were looked at: bit i is the row `base + i`.
    private struct Window {
        let base: Int64
        let end: Int64
        let rows: RowSet
    }

    private mutating func nextWindow(after: Int64, size: inout Int) throws -> Window? {
        guard after < self.through else { return nil }
        let base = self.lowerBound(from: after + 1)
        guard base <= self.through else { return Window(base: after + 1, end: self.through, rows: RowSet(capacity: 0)) }
        while true {
            let count = Int(min(Int64(size), self.through.clampedSubtracting(base).clampedAdding(1)))
            let before = self.cost
            self.end = size > self.smallest ? before + 2 * self.limits.windowCost.upperBound : .max
            defer { self.end = .max }
            let rows: RowSet
            do { rows = try self.matches(within: RowSet(all: count), base: base, count: count) } catch is TooDear {
                size = max(size / 16, self.smallest)
                continue
            }
            let spent = self.cost - before
            if spent < self.limits.windowCost.lowerBound { size = min(size * 4, self.limits.windows.upperBound) }
            if spent > self.limits.windowCost.upperBound { size = max(size / 4, self.smallest) }
            return Window(base: base, end: base + Int64(count) - 1, rows: rows)
        }
    }

    /// A window costs more than is known to be worth its rows.
    private struct TooDear: Error {}

    /// A row that no matching row precedes, from the indexes seen on the way.
    private mutating func lowerBound(from start: Int64) -> Int64 {
        self.ownCost += self.compiled.nodes.count / 8
        var bounds: [Int64] = []
        bounds.reserveCapacity(self.compiled.nodes.count)
        for node in self.compiled.nodes {
            switch node {
            case .has(let tag): bounds.append(self.source.next(of: .tag(tag), from: start))
            case .lacks: bounds.append(start)
            case .all(let members): bounds.append(members.reduce(start) { max($0, bounds[$1]) })
            case .any(let members): bounds.append(members.reduce(.max) { min($0, bounds[$1]) })
            }
        }
        let bound = bounds.last ?? start
        return self.compiled.includesUntagged ? max(bound, self.source.next(of: .live, from: start)) : bound
    }

    private mutating func matches(within wanted: RowSet, base: Int64, count: Int) throws -> RowSet {
        self.ownCost += 16 + self.compiled.nodes.count / 8
        var candidates = wanted
        if self.compiled.includesUntagged {
            candidates = RowSet(capacity: count)
            _ = try self.source.collect(.live, within: wanted, base: base, count: count, into: &candidates)
        }
        self.kept.removeAll(keepingCapacity: true)
        var found = RowSet(capacity: count)
        let window = Stretch(rows: candidates, base: base, count: count)
        _ = try self.add(self.compiled.nodes.count - 1, within: candidates, of: window, to: &found)
        return found
    }

    /// The rows that may be in the audience, and where they are.
    private struct Stretch {
        let rows: RowSet
        let base: Int64
        let count: Int
    }

    /// Adds the rows of a node that are among the candidates.
    ///
    /// - Returns: False when it has none.
    private mutating func add(
        _ node: Int,
        within candidates: RowSet,
        of window: Stretch,
        to found: inout RowSet
    ) throws -> Bool {
        var node = node
        var candidates = candidates
        var isFound = false
        while !candidates.isEmpty {
            // A few passes over the bits.
            self.ownCost += 1 + window.count / 8192
            guard self.cost < self.end else { throw TooDear() }
            switch self.compiled.nodes[node] {
            case .has(let tag):
                let has = try self.collect(tag, within: candidates, of: window, into: &found)
                return has || isFound
            case .lacks(let tag):
                var having = RowSet(capacity: window.count)
                if try self.collect(tag, within: candidates, of: window, into: &having) { candidates.subtract(having) }
                found.formUnion(candidates)
                return isFound || !candidates.isEmpty
            case .all(let members) where members.isEmpty:
                found.formUnion(candidates)
                return true
            case .all(let members):
                let ordered = try self.rarestFirst(members, candidates: candidates, base: window.base)
                for member in ordered.dropLast() {
                    var left = RowSet(capacity: window.count)
                    guard try self.add(member, within: candidates, of: window, to: &left) else { return isFound }
                    candidates = left
                }
                node = ordered[ordered.count - 1]
            case .any(let members):
                for member in members.dropLast() {
                    if try self.add(member, within: candidates, of: window, to: &found) {
                        isFound = true
                        candidates.subtract(found)
                        if candidates.isEmpty { return true }
                    }
                }
                node = members[members.count - 1]
            }
        }
        return isFound
    }

    /// Adds the candidates with a tag.
    ///
    /// - Returns: False when there are none.
    private mutating func collect(
        _ tag: Int,
        within candidates: RowSet,
        of window: Stretch,
        into found: inout RowSet
    ) throws -> Bool {
        let (base, count) = (window.base, window.count)
        guard self.compiled.isFrequent[tag] else {
            return try self.source.collect(.tag(tag), within: candidates, base: base, count: count, into: &found)
        }
        var rows = self.kept[tag] ?? RowSet(capacity: count)
        if self.kept[tag] == nil {
            // All of the window's at once, for the places where the tag stands that are still to come.
            _ = try self.source.collect(.tag(tag), within: window.rows, base: base, count: count, into: &rows)
            self.kept[tag] = rows
        }
        rows.formIntersection(candidates)
        guard !rows.isEmpty else { return false }
        found.formUnion(rows)
        return true
    }

    /// Operands with the one in front that has the fewest rows from here on; only tags are compared.
    private mutating func rarestFirst(_ members: [Int], candidates: RowSet, base: Int64) throws -> [Int] {
        let tags = members.prefix(8).map { member in
            if case .has(let tag) = self.compiled.nodes[member] { tag as Int? } else { nil }
        }.prefix { $0 != nil }
        guard tags.count > 1, candidates.count > 64 else { return members }
        var rarest = (index: 0, span: Int64(-1))
        for case (let index, let tag?) in tags.enumerated() {
            let span = try self.source.span(of: tag, from: base)
            if span > rarest.span { rarest = (index, span) }
        }
        var ordered = members
        ordered.swapAt(0, rarest.index)
        return ordered
    }
}
