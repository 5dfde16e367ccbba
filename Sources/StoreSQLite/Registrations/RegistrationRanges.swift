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
    private var arguments: Database.Values = []

    init(
        _ query: RegistrationQuery,
        app: Int64,
        after: Int64,
        limit: Int,
        mask: UInt64,
        in database: Database
    ) throws {
        self.query = query
        self.app = app
        self.after = after
        self.limit = limit
        self.tag = try query.tag.flatMap { try TagFinder(database, app: app).find($0) }
        if let id = query.id {
            self.add("registration WHERE app = ? AND id = ?", [app, id.text])
            return
        }
        // A tag that no registration has had.
        if query.tag != nil, self.tag == nil { return }
        let isLive = query.state == nil || query.state == .live
        // Only live ones are found by their handle, and only live ones have tags.
        guard query.handles == nil else {
            if isLive { try self.addHolders(database.handleDigest(mask: mask), in: database) }
            return
        }
        if isLive { self.addLive() }
        if query.tag == nil, query.state != .live { self.addEnded() }
    }

    /// The rows of all ranges; nil where there is none to look at.
    var union: (sql: String, arguments: Database.Values)? {
        self.ranges.isEmpty ? nil : (self.ranges.joined(separator: " UNION ALL "), self.arguments)
    }

    /// The services and kinds that are asked for.
    private var services: [(pns: PushService, kind: RegistrationKind)] {
        (self.query.pns.map { [$0] } ?? PushService.allCases).flatMap { pns in self.query.kinds.map { (pns, $0) } }
    }

    /// Their numbers.
    private var slots: [Int] { self.services.map { RegistrationSlot.number($0.pns, $0.kind) } }

    private mutating func add(_ source: String, _ values: Database.Values) {
        self.ranges.append("SELECT row FROM (SELECT row FROM \(source) AND row > ? ORDER BY row LIMIT ?)")
        self.arguments += values
        self.arguments += [self.after, self.limit]
    }

    /// A range for each registration that has one of the handles: of each service one, and one for each template.
    private mutating func addHolders(_ digest: HandleDigest, in database: Database) throws {
        guard let handles = self.query.handles, let (user, number) = self.userAndTag else { return }
        for (pns, kind) in self.services {
            let slot = RegistrationSlot.number(pns, kind)
            for handle in handles {
                let values = HandleIndex.values(handle, pns, kind, app: self.app, digest)
                for row: Int64 in try database.values(HandleIndex.findAll("r.row"), values) {
                    var source = "registration WHERE row = ?"
                    var arguments: Database.Values = [row]
                    if let user {
                        source += " AND user = ?"
                        arguments += [user.text]
                    }
                    if let number {
                        source += " AND \(Self.hasTag(slot))"
                        arguments += [number]
                    }
                    self.add(source, arguments)
                }
            }
        }
    }

    /// Whose they are, and the number of the tag that they have; nil where nobody can be meant, for nobody has two users' tags.
    private var userAndTag: (user: ExactText?, number: Int64?)? {
        let user = self.query.user?.key
        switch self.tag {
        case .user(let owner, _): return user == nil || user == owner ? (owner, nil) : nil
        case .number(let tag): return (user, tag)
        case nil: return (user, nil)
        }
    }

    /// A condition on rows of `registration` of that slot; `?` is the tag's number.
    private static func hasTag(_ slot: Int) -> String {
        "EXISTS (SELECT 1 FROM tagged AS t WHERE t.tag = ? AND t.pns = \(slot) AND t.row = registration.row)"
    }

    /// A range for each service and kind, for the indexes have the service before the row.
    private mutating func addLive() {
        guard let (user, number) = self.userAndTag else { return }
        for slot in self.slots {
            let source = "registration WHERE app = ? AND \(RegistrationRow.isLive) AND pns = \(slot)"
            switch (user, number) {
            case (let user?, let number?):
                self.add("\(source) AND user = ? AND \(Self.hasTag(slot))", [self.app, user.text, number])
            case (let user?, nil): self.add("\(source) AND user = ?", [self.app, user.text])
            case (nil, let number?): self.add("tagged WHERE tag = ? AND pns = \(slot)", [number])
            case (nil, nil): self.add(source, [self.app])
            }
        }
    }

    /// Registrations that are not live; deleted ones only on request.
    private mutating func addEnded() {
        // The indexes are partial: the condition selects them.
        let known = "pns IN (\(self.slots.map(String.init).joined(separator: ", ")))"
        let service = self.query.pns == nil ? " AND (\(known) OR pns IS NULL)" : " AND \(known)"
        let source = "registration WHERE app = ? AND \(RegistrationRow.hasEnded)\(service)"
        if let user = self.query.user?.key.text {
            let state = self.query.state.map { "= \($0.number)" } ?? "<> \(Registration.State.deleted.number)"
            return self.add("\(source) AND user = ? AND state \(state)", [self.app, user])
        }
        let ended: [Registration.State] = [.pruned, .expired, .replaced]
        for state in self.query.state.map({ [$0] }) ?? ended {
            self.add("\(source) AND state = \(state.number)", [self.app])
        }
    }
}
