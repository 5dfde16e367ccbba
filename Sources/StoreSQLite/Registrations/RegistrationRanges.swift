import GRDB
import PushModel
import Store
import StoreKit

/// The ranges of indexes for a list of registrations, each in row order and read at most a page far.
struct RegistrationRanges {
    private let query: RegistrationQuery
    private let tag: StoredTag?
    private let app: Int64
    private let after: Int64
    private let limit: Int
    private var ranges: [String] = []
    private var arguments: StatementArguments = []

    init(_ query: RegistrationQuery, app: Int64, after: Int64, limit: Int, in database: Database) throws {
        self.query = query
        self.app = app
        self.after = after
        self.limit = limit
        self.tag = try query.tag.flatMap { try TagFinder(database, app: app).find($0) }
        // A tag that no registration has had.
        if query.tag != nil, self.tag == nil { return }
        if query.state == nil || query.state == .live { self.addLive() }
        // Only live ones have tags.
        if query.tag == nil, query.state != .live { self.addEnded() }
    }

    /// The rows of all ranges; nil where there is none to look at.
    var union: (sql: String, arguments: StatementArguments)? {
        self.ranges.isEmpty ? nil : (self.ranges.joined(separator: " UNION ALL "), self.arguments)
    }

    private mutating func add(_ source: String, _ values: StatementArguments) {
        self.ranges.append("SELECT row FROM (SELECT row FROM \(source) AND row > ? ORDER BY row LIMIT ?)")
        self.arguments += values
        self.arguments += [self.after, self.limit]
    }

    /// A range for each service, for the indexes have the service before the row.
    private mutating func addLive() {
        var user = self.query.user?.key
        var number: Int64?
        switch self.tag {
        case .user(let owner, _):
            // No registration has two users' tags.
            guard user == nil || user == owner else { return }
            user = owner
        case .number(let tag): number = tag
        case nil: break
        }
        for pns in self.query.pns.map({ [$0] }) ?? PushService.allCases {
            let source = "registration WHERE app = ? AND state = 1 AND pns = \(pns.number)"
            switch (user, number) {
            case (let user?, let number?):
                let hasTag = """
                    EXISTS (SELECT 1 FROM tagged AS t WHERE t.tag = ? AND t.pns = \(pns.number) AND t.row = registration.row)
                    """
                self.add("\(source) AND user = ? AND \(hasTag)", [self.app, user, number])
            case (let user?, nil): self.add("\(source) AND user = ?", [self.app, user])
            case (nil, let number?): self.add("tagged WHERE tag = ? AND pns = \(pns.number)", [number])
            case (nil, nil): self.add(source, [self.app])
            }
        }
    }

    /// Registrations that are not live; deleted ones only on request.
    private mutating func addEnded() {
        // The indexes are partial: `state <> 1` selects them.
        let service = self.query.pns.map { " AND pns = \($0.number)" } ?? ""
        let source = "registration WHERE app = ? AND state <> 1\(service)"
        if let user = self.query.user?.key {
            let state = self.query.state.map { "= \($0.number)" } ?? "<> \(Registration.State.deleted.number)"
            return self.add("\(source) AND user = ? AND state \(state)", [self.app, user])
        }
        let ended: [Registration.State] = [.pruned, .expired, .replaced]
        for state in self.query.state.map({ [$0] }) ?? ended {
            self.add("\(source) AND state = \(state.number)", [self.app])
        }
    }
}
