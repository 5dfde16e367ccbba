import StoreSQL

@testable import StorePostgreSQL

/// How a statement is run, or was, as the server says it.
struct QueryPlan: CustomStringConvertible {
    private let lines: [String]

    init(_ lines: [String]) { self.lines = lines }

    var description: String { self.lines.joined(separator: "\n") }

    /// What costs more the more rows there are; small: tables with a handful of rows, which may be walked through.
    func walks(besides small: Set<String> = []) -> [String] {
        self.lines.filter { line in
            if line.contains("Gather") { return true }
            guard let walk = line.firstMatch(of: #/Seq Scan on (\w+)/#) else { return false }
            return !small.contains(String(walk.1))
        }
    }

    /// The most rows that any part of it has looked at: those that it gave, and those that it left out; nil = it was not run.
    var walked: Int? {
        var (most, loops, given) = (Int?.none, 0, 0)
        for line in self.lines {
            if let run = line.firstMatch(of: #/\(actual (?:time=\S+ )?rows=(\d+) loops=(\d+)\)/#) {
                (given, loops) = (Int(run.1) ?? 0, Int(run.2) ?? 0)
            } else if let left = line.firstMatch(of: #/Rows Removed by [\w ]+: (\d+)/#) {
                given += Int(left.1) ?? 0
            } else {
                continue
            }
            // The rows of a part that is run several times are a mean.
            most = max(most ?? 0, given * loops)
        }
        return most
    }
}

extension StoreAdministration {
    /// How a statement would be run.
    func plan(_ statement: SQLStatement) async throws -> QueryPlan { try await self.explain("EXPLAIN", statement) }

    /// How a statement is run; of what takes numbers nothing is committed.
    func run(explaining statement: SQLStatement) async throws -> QueryPlan {
        try await self.explain("EXPLAIN (ANALYZE, TIMING OFF)", statement)
    }

    private func explain(_ word: SQLStatement, _ statement: SQLStatement) async throws -> QueryPlan {
        let rows = try await self.engine.rows(SQLStatement(joining: [word, statement], with: " "))
        return QueryPlan(try rows.map { try $0["QUERY PLAN"] })
    }
}
