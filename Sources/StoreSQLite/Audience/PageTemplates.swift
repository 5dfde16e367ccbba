import PushModel
import Store
import StoreKit

// The templates of an audience's devices, whose contents come with the page.
extension SQLiteStore {
    /// Adds the templates of a page's devices, and ends it where it has many of them.
    func addTemplates(to page: inout AudiencePage, of query: AudienceQuery) async throws {
        page.templates = try await self.templates(ofRows: page.rows)
        if let only = query.template {
            page = page.only(only)
        } else {
            page = page.prefix(templates: AudienceQuery.maximumTemplates)
            let numbers = Set(page.templates).subtracting([0])
            page.contents = try await self.read { try $0.templates(numbers) }
        }
    }

    /// The numbers of the templates of some rows; 0 for one that has none any more.
    private func templates(ofRows rows: [Int64]) async throws -> [Int64] {
        var numbers: [Int64] = []
        for start in stride(from: 0, to: rows.count, by: Self.rowsARead) {
            let some = rows[start..<min(start + Self.rowsARead, rows.count)]
            numbers += try await self.read(size: .long) { database in
                let statement = try PreparedStatement("SELECT template FROM registration WHERE row = ?", in: database)
                defer { statement.reset() }
                return try some.map { row in
                    try statement.restart(row)
                    return try statement.step() ? statement.integer(statement.column("template")) : 0
                }
            }
        }
        return numbers
    }

    /// Rows whose templates are read in one transaction.
    private static let rowsARead = 4096
}

extension Database {
    /// Templates by their numbers; one that nobody has any more may be missing.
    func templates(_ numbers: Set<Int64>) throws -> [Int64: DeviceTemplate.Content] {
        var found: [Int64: DeviceTemplate.Content] = [:]
        for number in numbers {
            let text: String? = try self.value("SELECT content FROM template WHERE number = ?", [number])
            found[number] = try text.map { try StoredJSON.value(DeviceTemplate.Content.self, from: $0) }
        }
        return found
    }
}
