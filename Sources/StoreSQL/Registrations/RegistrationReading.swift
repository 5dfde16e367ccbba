package import PushModel
import Store
package import StoreKit

/// What a change of registrations reads: all that it may concern.
struct RegistrationReading: Sendable {
    /// Takes a row to what is known.
    private typealias Take = @Sendable (inout RegistrationChange.Known, SQLRow) throws -> Void

    private let table: RegistrationTable
    private let terms: RegistrationTerms
    private(set) var statements: [SQLStatement] = []
    private var takes: [Take] = []
    /// Finds the rows of the first statement.
    private let found: SQLStatement
    /// The places of the statements that find later deletions and claims.
    private var later: (deletions: Int, claims: Int)?

    init(_ request: RegisterRequest, _ terms: RegistrationTerms, _ table: RegistrationTable) {
        (self.table, self.terms) = (table, terms)
        let app = table.app
        var selections = request.ids.map { id -> SQLStatement in "app = \(app) AND id = \(id.text)" }
        let uses = request.handleUses
        if !uses.isEmpty { selections.append(table.mayHave(uses)) }
        if case .install(let installation) = request {
            let rows = Self.installed(installation.tag, app: app)
            selections.append("\"row\" IN (\(rows)) AND +app = \(app)")
        }
        let rows = selections.map { "SELECT \"row\" FROM registration WHERE \($0)" as SQLStatement }
        self.found = SQLStatement(joining: rows, with: " UNION ALL ")
        let all = selections.map { selection -> SQLStatement in
            "SELECT \(RegistrationTable.columns) FROM registration WHERE \(selection)"
        }
        self.read(SQLStatement(joining: all, with: " UNION ALL ")) { $0.add(try KeptRegistration($1)) }
        if case .install(let installation) = request, installation.base != nil {
            self.readNames(of: Self.installed(installation.tag, app: app))
        }
        self.readNumbers(of: request.tags)
        guard !request.upserts.isEmpty else { return }
        self.readLaterChanges(of: request, selections)
        for kind in Set(request.upserts.map { RegistrationSlot($0).kind }) {
            self.readOldest(kind, changes: request.upserts.count)
        }
    }

    /// The rows of the registrations that have a tag.
    static func installed(_ tag: Tag, app: Int64) -> SQLStatement {
        """
        SELECT "row" FROM tagged WHERE tag = (SELECT number FROM tag_name WHERE app = \(app) AND name = \(tag.key))
        """
    }

    /// What the rows of each statement say.
    func known(_ answers: ArraySlice<[SQLRow]>) throws -> RegistrationChange.Known {
        var known = RegistrationChange.Known()
        for (take, rows) in zip(self.takes, answers) { for row in rows { try take(&known, row) } }
        return known
    }

    /// Guards of what was read, for a change that others may come between: in front of its writes, and behind them.
    ///
    /// - Parameter answers: The rows of each statement.
    /// - Returns: The guards.
    func guards(_ answers: ArraySlice<[SQLRow]>) -> (before: [SQLStatement], behind: [SQLStatement]) {
        let counts = answers.map(\.count)
        let found = counts.first.map { [self.found.expecting($0)] } ?? []
        guard let (deletions, claims) = self.later else { return (found, []) }
        // A handle that others are releasing is waited for by the writes.
        return (
            found + [self.statements[deletions].expecting(counts[deletions])],
            [self.statements[claims].expecting(counts[claims])]
        )
    }

    private mutating func read(_ statement: SQLStatement, _ take: @escaping Take) {
        self.statements.append(statement)
        self.takes.append(take)
    }

    private mutating func readNames(of rows: SQLStatement) {
        self.read(
            """
            SELECT number, coalesce(name_shown, name) AS name FROM tag_name WHERE number IN (
                SELECT CAST(value AS BIGINT) FROM registration, \(elements: "registration.tags") WHERE registration.row IN (\(rows)))
            """
        ) { $0.names[try $1["number"]] = try Tag(stored: $1["name"]) }
    }

    private mutating func readNumbers(of tags: Set<Tag>) {
        guard !tags.isEmpty else { return }
        let byKey = Dictionary(tags.map { (ExactText($0.key), $0) }, uniquingKeysWith: { $1 })
        let names = tags.map(\.key)
        self.read("SELECT name, number FROM tag_name WHERE app = \(self.table.app) AND name IN (\(texts: names))") {
            if let tag = byKey[ExactText(try $1["name"])] { $0.tags[tag] = try $1["number"] }
        }
    }

    /// Later deletions of the ids, and later claims of the handles that have ended.
    private mutating func readLaterChanges(of request: RegisterRequest, _ selections: [SQLStatement]) {
        var ids = request.ids.map { id -> SQLStatement in "SELECT \(id.text)" }
        // What is found by its handle or tag has an id of its own.
        if request.registration == nil { ids += selections.map { "SELECT id FROM registration WHERE \($0)" } }
        let (user, sequence) = (self.terms.user, self.terms.sequence)
        let deleted = SQLStatement(joining: ids, with: " UNION ALL ")
        self.later = (self.statements.count, self.statements.count + 1)
        self.read(self.table.deletions(of: deleted, by: user, after: sequence)) {
            $0.deletions[try RegistrationID(stored: $1["id"])] = try $1["version"]
        }
        let claims = request.upserts.map { self.table.claim(of: $0.handle, RegistrationSlot($0), after: sequence) }
        self.read(SQLStatement(joining: claims, with: " UNION ALL ")) {
            $0.claimed.insert(ReleasedHandle(slot: try $1["pns"], digest: try $1["handle"]))
        }
    }

    /// The user's registrations that were changed longest ago, where there may be one more than may be.
    ///
    /// With a limit: an import may have given the user any number.
    private mutating func readOldest(_ kind: RegistrationKind, changes: Int) {
        guard let user = self.terms.user?.key.text, let devices = self.terms.most else { return }
        let most = RegistrationBound(devices: devices, kind).most
        let (first, last) = RegistrationSlot.numbers(of: kind)
        let live: SQLStatement = """
            FROM registration WHERE app = \(self.table.app) AND "user" = \(user) AND \(raw: KeptRegistration.live)
                AND pns BETWEEN \(first) AND \(last)
            """
        let count: SQLStatement = "(SELECT count(*) FROM (SELECT 1 \(live) LIMIT \(most + changes)) AS part)"
        self.read(
            """
            SELECT \(RegistrationTable.columns), \(count) AS living FROM registration
            WHERE registration.row IN (
                SELECT "row" FROM (SELECT "row", version \(live) LIMIT \(most + 1)) AS part ORDER BY version, "row" LIMIT \(2 * changes))
                AND \(count) > \(most - changes)
            """
        ) {
            $0.add(try KeptRegistration($1))
            $0.living[kind] = try $1["living"]
        }
    }
}

extension RegistrationTable {
    /// The last deletion of each of those ids by that user, or by an operator, after a change.
    package func deletions(of ids: SQLStatement, by user: UserName?, after sequence: Int64) -> SQLStatement {
        """
        SELECT id, max(version) AS version FROM tombstone
        WHERE app = \(self.app) AND id IN (\(ids)) AND "user" IN ('', \(user?.key.text ?? "")) AND version > \(sequence) GROUP BY id
        """
    }

    /// Finds a row where a later change claimed a handle that was released since.
    package func claim(of handle: Handle, _ slot: RegistrationSlot, after sequence: Int64) -> SQLStatement {
        let handle = ReleasedHandle(handle, slot)
        return """
            SELECT pns, handle FROM released_handle
            WHERE app = \(self.app) AND pns = \(handle.slot) AND handle = \(handle.digest) AND version > \(sequence)
            """
    }

    /// Finds rows where later changes have released handles, deleted unknown ids or removed users: nearly always none.
    package static func laterChanges(than sequence: Int64) -> SQLStatement {
        """
        SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM released_handle WHERE version > \(sequence))
            OR EXISTS (SELECT 1 FROM tombstone WHERE version > \(sequence))
            OR EXISTS (SELECT 1 FROM removed_user WHERE version > \(sequence))
        """
    }
}

extension RegistrationChange.Known {
    fileprivate mutating func add(_ registration: KeptRegistration) {
        self.registrations[registration.id] = registration
    }
}

extension RegisterRequest {
    /// The ids that it names.
    var ids: [RegistrationID] {
        switch self {
        case .issue(let candidate, _), .create(let candidate, _): [candidate]
        case .upsert(let id, _), .patch(let id, _), .delete(let id): [id]
        case .install(let installation): installation.parts.map(\.candidate)
        case .removeUser, .channel: []
        }
    }

    /// The tags that it names and that have numbers: all but users' own.
    fileprivate var tags: Set<Tag> {
        var tags = self.upserts.flatMap(\.tags)
        switch self {
        case .patch(_, let patch): tags += patch.add + patch.remove
        case .install(let installation): tags.append(installation.tag)
        default: break
        }
        return Set(tags.filter { $0.owner == nil })
    }

    /// Its handles.
    ///
    /// What has a device's handle for native notifications takes the device's templates with it.
    fileprivate var handleUses: [HandleUse] {
        var devices = self.upserts.map { (handle: $0.handle, pns: $0.pns) }
        if case .issue(_, let handles) = self {
            devices = handles.flatMap { handle in PushService.allCases.map { (handle, $0) } }
        }
        return devices.flatMap { device in
            RegistrationKind.allCases.map { HandleUse(handle: device.handle, pns: device.pns, kind: $0) }
        }
    }
}
