package import Store

/// The versions of a store's tables, and the steps that lead from one to the next.
///
/// Version 1 is the tables that a driver creates; step `n` leads from version `n - 1` to `n`. A new store is created at
/// version 1 and takes every step, so that a store is the same whether it was made today or has grown.
package struct SchemaPlan: Sendable {
    /// In order; the first leads to version 2.
    package let steps: [SchemaStep]

    package init(steps: [SchemaStep] = []) { self.steps = steps }

    /// The version that this program's statements are written for.
    package var version: Int { self.steps.count + 1 }

    /// The version of a store that is made new.
    package var newest: SchemaVersion {
        (1...self.version).reduce(.first) { self.version($1, after: $0) }
    }

    /// What a program of this plan can do with a store.
    package func fit(_ found: SchemaVersion) -> SchemaFit {
        if found.number < self.version { return .behind }
        return found.opensFrom <= self.version ? .fits : .ahead
    }

    /// Why a program of this plan does not work with a store, and what to do; nil = it does.
    package func refusal(of found: SchemaVersion) -> String? {
        let version = "its tables have version \(found.number)"
        return switch self.fit(found) {
        case .fits: nil
        case .behind: "\(version), and this program needs version \(self.version): run pushline store migrate"
        case .ahead where found.isMoving: "a store is being moved there: run pushline store move again, which goes on"
        case .ahead:
            "\(version), made by a newer Pushline, and this program needs version \(self.version): run the newer one, or restore a backup "
                + "from before the update"
        }
    }

    /// The steps that a store still needs; none for one that is newer.
    package func steps(after found: SchemaVersion) -> ArraySlice<SchemaStep> {
        self.steps.dropFirst(max(0, found.number - 1))
    }

    /// Whether the step to a version takes away what older programs use.
    package func contracts(_ number: Int) -> Bool { number > 1 && self.steps[number - 2].kind == .contract }

    /// Refuses a step that contracts.
    ///
    /// - Parameters:
    ///   - number: The version to which it leads.
    ///   - older: That of a program that has the store open.
    /// - Returns: A conflict, which says what to do.
    package static func inUse(_ number: Int, by older: Int) -> StoreError {
        StoreError(
            .conflict,
            "the step to version \(number) takes away what older programs use, and one of version \(older) has the store open: "
                + "stop the programs of the older Pushline, then run this again"
        )
    }

    /// The version of a store that has taken the step to version `number`.
    ///
    /// - Parameters:
    ///   - number: A version of this plan, from 1.
    ///   - found: What the store had before.
    /// - Returns: What it says of its tables then.
    package func version(_ number: Int, after found: SchemaVersion) -> SchemaVersion {
        guard number > 1, self.steps[number - 2].kind == .expand else {
            return SchemaVersion(number: number, opensFrom: number)
        }
        return SchemaVersion(number: number, opensFrom: max(found.opensFrom, number - 1))
    }
}

/// What a store says of its tables.
package struct SchemaVersion: Sendable, Hashable {
    /// The last step that was taken.
    package let number: Int
    /// The oldest program that can work with them, by its own version: the one before, or the same after a step that contracts.
    package let opensFrom: Int

    package init(number: Int, opensFrom: Int) {
        self.number = number
        self.opensFrom = opensFrom
    }

    /// Of a store as a driver creates it.
    package static let first = Self(number: 1, opensFrom: 1)

    /// ``opensFrom`` of a store that rows are moved into: no program opens it before it has all of them.
    package static let moving = Int(Int32.max)

    package var isMoving: Bool { self.opensFrom == Self.moving }
}

/// What a program can do with a store.
package enum SchemaFit: Sendable, Hashable {
    case fits
    /// The store lacks steps that the program has.
    case behind
    /// The store has taken steps that the program does not know and cannot work with.
    case ahead
}

/// One change of the tables, made in one transaction.
package struct SchemaStep: Sendable {
    package enum Kind: String, Sendable {
        /// Adds tables, columns or indexes: programs of the version before go on beside it, and so do those of its own.
        case expand
        /// Takes away what programs of the version before still use: they must have ended.
        case contract
    }

    package let kind: Kind
    /// What it does, for people, such as `adds the column job.label`.
    package let summary: String
    /// The statements, in the driver's own SQL.
    package let sql: String

    package init(_ kind: Kind, _ summary: String, sql: String) {
        self.kind = kind
        self.summary = summary
        self.sql = sql
    }
}
