package import PushModel
package import Store
import StoreKit

extension RegistrationStore where Self: SQLEngine {
    package func registrations(_ query: RegistrationQuery) async throws -> Page<Registration> {
        let (cursors, app) = (self.cursors, query.app)
        let after = try cursors.open(query.cursor, .registrations, of: app) ?? 0
        let limit = min(max(1, query.limit), 1000)
        guard let number: Int64 = try await self.rows(.number(of: app), size: .short).first?["number"] else {
            return Page(items: [], cursor: nil)
        }
        let table = RegistrationTable(app: number, clock: self.clock, digest: self.handles)
        let list = RegistrationList(query, table, after: after, limit: limit + 1)
        guard let statement = list.statement else { return Page(items: [], cursor: nil) }
        let size = query.id == nil ? ReadSize.long : .short
        let found = try await self.rows(statement, size: size).map { try KeptRegistration($0) }
        // Each tag is looked up: what has many ends a page early.
        var (tags, fitting) = (0, 0)
        for registration in found {
            tags += registration.tags.numbers.count
            guard tags <= RegistrationList.mostTags || fitting == 0 else { break }
            fitting += 1
        }
        let names = try await self.names(of: Set(found.prefix(fitting).flatMap(\.tags.numbers)), size: size)
        return try Page(
            found,
            limit: min(limit, fitting),
            cursor: { cursors.seal($0.row ?? 0, .registrations, of: app) },
            item: { try $0.registration(of: app, tags: names) }
        )
    }

    /// The names of tags; a number is never another tag's.
    private func names(of tags: Set<Int64>, size: ReadSize) async throws -> [Int64: Tag] {
        guard !tags.isEmpty else { return [:] }
        let rows = try await self.rows(
            """
            SELECT number, coalesce(name_shown, name) AS name FROM tag_name WHERE number IN (\(numbers: tags.sorted()))
            """,
            size: size
        )
        let names = try rows.map { (try $0["number"] as Int64, try Tag(stored: $0["name"])) }
        return Dictionary(uniqueKeysWithValues: names)
    }

    package func credentialUses(app: AppID) async throws -> [CredentialUse] {
        let rows = try await self.rows(
            """
            SELECT credential.pns, credential.name, count(*) AS devices
            FROM credential JOIN registration ON registration.credential = credential.number AND \(raw: KeptRegistration.live)
            WHERE credential.app = \(SQLStatement.app(app)) GROUP BY credential.pns, credential.name
            ORDER BY credential.pns, credential.name
            """
        )
        return try rows.map { row in
            CredentialUse(
                pns: try PushService(stored: row["pns"]),
                credential: try CredentialName(stored: row["name"]),
                devices: try row["devices"]
            )
        }
    }
}

/// A list of registrations: ranges of indexes, each in row order and read at most a page far.
private struct RegistrationList {
    /// The most tags of a page of registrations, unless one has more.
    static let mostTags = 60_000

    private let query: RegistrationQuery
    private let table: RegistrationTable
    private let after: Int64
    private let limit: Int
    private var ranges: [SQLStatement] = []

    init(_ query: RegistrationQuery, _ table: RegistrationTable, after: Int64, limit: Int) {
        (self.query, self.table, self.after, self.limit) = (query, table, after, limit)
        if let id = query.id {
            self.add("registration WHERE app = \(table.app) AND id = \(id.text)")
            return
        }
        // Only live ones are found by their handle, and only live ones have tags.
        if query.state == nil || query.state == .live { self.addLive() }
        if query.tag == nil, query.handles == nil, query.state != .live { self.addEnded() }
    }

    /// nil if there is nothing to look at.
    var statement: SQLStatement? {
        guard !self.ranges.isEmpty else { return nil }
        return """
            SELECT \(RegistrationTable.columns) FROM registration
            WHERE registration.row IN (\(SQLStatement(joining: self.ranges, with: " UNION ALL ")))
            ORDER BY registration.row LIMIT \(self.limit)
            """
    }

    /// The services and kinds that are asked for.
    private var services: [(pns: PushService, kind: RegistrationKind)] {
        (self.query.pns.map { [$0] } ?? PushService.allCases).flatMap { pns in self.query.kinds.map { (pns, $0) } }
    }

    private mutating func add(_ source: SQLStatement) {
        self.ranges.append(
            """
            SELECT "row" FROM (
                SELECT "row" FROM \(source) AND "row" > \(self.after) ORDER BY "row" LIMIT \(self.limit)) AS part
            """
        )
    }

    /// Whose they are, and the tag that they have; nil if nobody can be meant, for nobody has two users' tags.
    private var userAndTag: (user: ExactText?, tag: Tag?)? {
        let user = self.query.user?.key
        guard let tag = self.query.tag, let owner = tag.owner else { return (user, self.query.tag) }
        return user == nil || user == owner ? (owner, nil) : nil
    }

    /// Conditions on rows of `registration` of that slot.
    private func condition(_ user: ExactText?, _ tag: Tag?, _ slot: Int) -> SQLStatement {
        var condition: SQLStatement = ""
        if let user { condition = "AND \"user\" = \(user.text)" }
        if let tag {
            condition = """
                \(condition) AND EXISTS (SELECT 1 FROM tagged WHERE tagged.tag = \(self.number(of: tag))
                    AND tagged.pns = \(raw: "\(slot)") AND tagged.row = registration.row)
                """
        }
        return condition
    }

    private func number(of tag: Tag) -> SQLStatement {
        "(SELECT number FROM tag_name WHERE app = \(self.table.app) AND name = \(tag.key))"
    }

    /// A range for each service and kind, for the indexes have the service before the row; and for each handle, where some are asked for.
    private mutating func addLive() {
        guard let (user, tag) = self.userAndTag else { return }
        for (pns, kind) in self.services {
            let slot = RegistrationSlot.number(pns, kind)
            let condition = self.condition(user, tag, slot)
            if let handles = self.query.handles {
                for handle in handles {
                    self.add("registration WHERE \(self.table.have(handle, pns, kind)) \(condition)")
                }
            } else if user == nil, let tag {
                self.add("tagged WHERE tag = \(self.number(of: tag)) AND pns = \(raw: "\(slot)")")
            } else {
                self.add(
                    """
                    registration WHERE app = \(self.table.app) AND \(raw: KeptRegistration.live) AND pns = \(raw: "\(slot)") \(condition)
                    """
                )
            }
        }
    }

    /// Registrations that are not live; deleted ones only on request.
    private mutating func addEnded() {
        // The indexes are partial: the condition selects them.
        let slots = self.services.map { "\(RegistrationSlot.number($0.pns, $0.kind))" }.joined(separator: ", ")
        let unknown = self.query.pns == nil ? "OR pns IS NULL" : ""
        let source: SQLStatement = """
            registration WHERE app = \(self.table.app) AND \(raw: KeptRegistration.past) AND (pns IN (\(raw: slots)) \(raw: unknown))
            """
        if let user = self.query.user?.key.text {
            let state = self.query.state.map { "= \($0.number)" } ?? "<> \(Registration.State.deleted.number)"
            return self.add("\(source) AND \"user\" = \(user) AND state \(raw: state)")
        }
        let ended: [Registration.State] = [.pruned, .expired, .replaced]
        for state in self.query.state.map({ [$0] }) ?? ended {
            self.add("\(source) AND state = \(raw: "\(state.number)")")
        }
    }
}
