package import PushModel
package import Store
import StoreKit
import StoreSQL

extension PostgreSQLStore {
    /// Rows of a transaction, some 50 ms: nobody waits for one, but for the rows that it has in common with others.
    private static let rowsAChunk = 2048

    /// See ``RegistrationStore/importRegistrations(_:app:sequence:lifetime:)``.
    package func importRegistrations(
        _ rows: [ImportedRegistration],
        app: AppID,
        sequence begun: Int64?,
        lifetime: Duration?
    ) async throws -> ImportedRegistrations {
        let sequence: Int64
        if let begun { sequence = begun } else { sequence = try await self.beginImport() }
        guard !rows.isEmpty else { return ImportedRegistrations(sequence: sequence, results: []) }
        let end = lifetime.map(Timestamp(milliseconds: self.clock.now).advanced)
        let (number, table) = (try await self.number(of: app), try await self.table(of: app))
        var results: [ImportResult] = []
        results.reserveCapacity(rows.count)
        while results.count < rows.count {
            let some = Self.chunk(of: rows[results.count...]).map { $0.expiring(at: end) }
            let chunk = ImportChunkRows(some, app: (app, number), of: table, sequence: sequence, self)
            results += try await self.write(chunk)
        }
        return ImportedRegistrations(sequence: sequence, results: results)
    }

    /// The numbers of jobs come from this too, so that jobs and imports have one order.
    private func beginImport() async throws -> Int64 {
        let next: SQLStatement = "SELECT nextval('job_sequence') AS number"
        return try await self.perform(
            SQLTransaction(
                SQLDecision(writing: [next]) { answers in
                    guard let row = answers.first?.rows.first else { throw StoreError(.corrupt, "there is no number") }
                    return try row["number"] as Int64
                }
            )
        )
    }

    /// The first rows, up to one whose id is among those before it: the last of these counts.
    private static func chunk(of rows: ArraySlice<ImportedRegistration>) -> ArraySlice<ImportedRegistration> {
        var ids: Set<RegistrationID> = []
        return rows.prefix(Self.rowsAChunk).prefix { row in row.id.map { ids.insert($0).inserted } ?? true }
    }

    private func write(_ chunk: ImportChunkRows) async throws -> [ImportResult] {
        var all: [ImportResult] = []
        for (index, result) in try await self.change(chunk.transaction).enumerated() {
            if let result {
                all.append(result)
            } else {
                all.append(try await self.write(chunk.single(index)))
            }
        }
        return all
    }

    /// Writes a row as any single change of a registration is written.
    private func write(_ single: ImportedSingle) async throws -> ImportResult {
        let found = try await self.rows(single.reads)
        switch try single.decide(found) {
        case .done(let result): return result
        case .change(let id, let result):
            return ImportResult(try await self.change(single.change(id, at: self.clock.wall)), done: result)
        }
    }
}
