package import PushModel
package import Store
import StoreKit

extension SQLStatement {
    /// Reads templates by their numbers; one that no device has any more may be missing.
    package static func templates(_ numbers: some Sequence<Int64>) -> SQLStatement {
        "SELECT number, content FROM template WHERE number IN (\(numbers: Array(numbers)))"
    }
}

extension DeviceTemplate.Content {
    /// Reads ``SQLStatement/templates(_:)``, by their numbers.
    package static func stored(_ rows: [SQLRow]) throws -> [Int64: Self] {
        try rows.reduce(into: [:]) { $0[try $1["number"]] = try StoredJSON.value(Self.self, from: $1["content"]) }
    }
}

extension SQLEngine {
    /// Adds what the templates of a page's devices are, and ends it where it has many of them.
    package func withTemplates(_ page: AudiencePage, _ query: AudienceQuery) async throws -> AudiencePage {
        if let only = query.template { return page.only(only) }
        var page = page.prefix(templates: AudienceQuery.maximumTemplates)
        page.contents = try DeviceTemplate.Content.stored(await self.rows(.templates(Set(page.templates))))
        return page
    }
}
