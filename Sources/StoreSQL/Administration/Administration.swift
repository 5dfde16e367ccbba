import PushModel
package import Store
import StoreKit

extension AdministrationStore where Self: SQLEngine {
    @discardableResult
    package func apply(_ change: AdministrationChange) async throws -> Bool {
        let clock = self.clock
        let transaction =
            switch change {
            case .app(let app, let spec): try AppTable.apply(spec, to: app, now: clock.now)
            case .account(let change): AccountTable.change(change)
            case .key(let change): KeyTable.change(change, at: clock.wall)
            case .hubRule(let change): HubRuleTable.change(change)
            case .pause(let change): PauseTable.change(change, at: clock.wall)
            case .session(let change): SessionTable.change(change, now: clock.now)
            }
        return try await self.perform(transaction)
    }
}

extension SQLTransaction where Value == Bool {
    /// A change of a row: whether it is there.
    ///
    /// It is looked for first, so that nothing is written where it is not.
    ///
    /// - Parameters:
    ///   - condition: Finds the row, by the table's key.
    ///   - table: The table.
    ///   - write: What is written then.
    init(finding condition: SQLStatement, in table: String, write: SQLStatement) {
        self.init(reading: "SELECT 1 AS found FROM \(raw: table) WHERE \(condition)") { rows in
            rows.isEmpty
                ? .nothing(false)
                : SQLDecision(writing: [("\(write) WHERE \(condition)" as SQLStatement).expecting(1)], giving: true)
        }
    }

    /// A change of one statement: whether it changed anything.
    init(_ write: SQLStatement) {
        self.init(SQLDecision(writing: write) { $0.count > 0 })
    }

    /// A change that adds something to an app, or else is in conflict with what is there.
    init(mentioning app: AppID, adding addition: SQLStatement, then others: [SQLStatement] = [], conflict: String) {
        let addition = addition.expecting(1, otherwise: StoreError(.conflict, conflict))
        self.init(SQLDecision(writing: [.mention(app), addition] + others, giving: true))
    }
}
