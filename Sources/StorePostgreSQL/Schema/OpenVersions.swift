import StoreKit
import StoreSQL

/// Which versions of programs have the store open.
///
/// Each connection of a program's holds an advisory lock of that program's version for as long as it lasts, together with all others. Whoever
/// takes a step that contracts must have those of all versions before by itself until the step is committed. A connection that comes in between
/// waits for that, and one that is made anew may have been without its lock: so the tables are looked at behind the lock, for each connection
/// (``Schema/refusal(_:)``).
enum OpenVersions {
    /// Of the store's locks among those of its database, where other schemas may have other stores.
    private static let key = "hashtext('pushline programs of ' || current_schema())"

    /// Takes this program's lock, and waits while that version is being locked out.
    static let own = PostgreSQLStatement(
        "SELECT 1 AS locked FROM pg_advisory_lock_shared(\(Self.key), \(Schema.plan.version))"
    )

    /// Takes the locks of all versions before one until the end of the transaction.
    ///
    /// - Parameter number: The version.
    /// - Returns: Gives those that programs have, which are not taken.
    static func exclude(before number: Int) -> PostgreSQLStatement {
        PostgreSQLStatement(
            """
            SELECT version FROM generate_series(1, $1::bigint - 1) AS older(version)
            WHERE NOT pg_try_advisory_xact_lock(\(Self.key), version::integer)
            """,
            [.integer(Int64(number))]
        )
    }
}
