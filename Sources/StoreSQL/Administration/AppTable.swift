package import PushModel
package import Store
import StoreKit

/// The table `app`.
enum AppTable {
    /// Declares an app.
    ///
    /// Its first job or registration could come in while its hub or its comparison of names changes. So this holds the app's row, and
    /// looks again behind that; where there is a second writer, an acceptance and a change of a registration hold it too (`FOR SHARE`),
    /// as long as the app has none.
    static func apply(_ spec: AppSpec, to app: AppID, now: Int64) throws -> SQLTransaction<Bool> {
        let (text, number) = (try StoredJSON.text(spec), SQLStatement.app(app))
        let (declaration, use, accounts) = (self.declaration(number), self.use(number), self.accounts(number))
        return SQLTransaction(reading: declaration, use, accounts) { declarations, use, accounts in
            let known = try declarations.first.flatMap { try $0["spec"] as String? }
            guard known != text else { return .nothing(false) }
            var writes: [SQLStatement] = [
                .mention(app), .hold(number), self.isDeclared(number, as: known).expecting(1),
            ]
            if let known {
                let change = try AppDeclaration.check(
                    StoredJSON.value(AppSpec.self, from: known),
                    becoming: spec,
                    use: AppUse(use, accounts: accounts)
                )
                if change.needsUnused { writes.append(try self.guardUse(number, as: use)) }
                if !change.names.isEmpty {
                    let all: SQLStatement = "SELECT 1 AS found FROM account WHERE app = \(number)"
                    writes.append(all.expecting(accounts.count))
                    writes += change.names.map { self.rename($0.old, to: $0.new, app: number).expecting(1) }
                }
            }
            writes.append("UPDATE app SET spec = \(text) WHERE number = \(number)")
            writes += RateLimitTable.limits(of: spec, app: number, now: now)
            return SQLDecision(writing: writes, giving: true)
        }
    }

    static func declaration(_ app: SQLStatement) -> SQLStatement { "SELECT spec FROM app WHERE number = \(app)" }

    /// A row where an app is declared so.
    static func isDeclared(_ app: SQLStatement, as spec: String?) -> SQLStatement {
        "SELECT 1 AS found FROM app WHERE number = \(app) AND spec IS NOT DISTINCT FROM \(spec)"
    }

    /// Its accounts where it has nothing else.
    private static func accounts(_ app: SQLStatement) -> SQLStatement {
        """
        SELECT name, name_shown FROM account WHERE app = \(app)
            AND NOT EXISTS (SELECT 1 FROM registration WHERE app = \(app)) AND NOT EXISTS (SELECT 1 FROM job WHERE app = \(app))
        """
    }

    private static let used = ["registration", "job", "content"]

    private static func use(_ app: SQLStatement) -> SQLStatement {
        let columns = self.used.map { table -> SQLStatement in
            "EXISTS (SELECT 1 FROM \(raw: table) WHERE app = \(app)) AS \(raw: table)"
        }
        return "SELECT \(SQLStatement(joining: columns, with: ", "))"
    }

    /// Finds its row only while the app has no more than was read.
    private static func guardUse(_ app: SQLStatement, as read: [SQLRow]) throws -> SQLStatement {
        let unused = try self.used.filter { table in try read.first?[table] == false }
        let conditions = unused.map { table -> SQLStatement in
            "NOT EXISTS (SELECT 1 FROM \(raw: table) WHERE app = \(app))"
        }
        return ("SELECT 1 AS found WHERE \(SQLStatement(joining: conditions, with: " AND "))" as SQLStatement)
            .expecting(1)
    }

    private static func rename(_ old: UserName, to new: UserName, app: SQLStatement) -> SQLStatement {
        """
        UPDATE account SET name = \(new.key.text), name_shown = \(new.shown) WHERE app = \(app) AND name = \(old.key.text)
        """
    }
}

extension AppUse {
    fileprivate init(_ rows: [SQLRow], accounts: [SQLRow]) throws {
        self.init(
            hasRegistrations: try rows.first?["registration"] ?? false,
            hasJobs: try rows.first?["job"] ?? false,
            hasContents: try rows.first?["content"] ?? false,
            accounts: try accounts.map { try UserName(stored: $0["name"], shown: $0["name_shown"]) }
        )
    }
}

extension AppStore where Self: SQLEngine {
    package func apps(_ name: AppID?) async throws -> [AppID: AppSpec] {
        let named: SQLStatement = name.map { "AND name = \($0.name)" } ?? ""
        let rows = try await self.rows("SELECT name, spec FROM app WHERE spec IS NOT NULL \(named)")
        let apps = try rows.map {
            (try AppID(stored: $0["name"]), try StoredJSON.value(AppSpec.self, from: $0["spec"]))
        }
        return Dictionary(uniqueKeysWithValues: apps)
    }
}
