/// Removes the work of final register jobs: their handles are no longer needed, and their owners may want them
/// forgotten.
///
/// A dead-lettered job may be replayed while its lifetime lasts: the dead letter keeps the work until then.
enum RegisterWork {
    /// What goes of a stored change, if it is there, and the JSON in its place.
    private static let handles: [(path: [String], json: String)] = [
        (["upsert", "_1", "handle"], "\"\""), (["create", "_1", "handle"], "\"\""),
        (["upsert", "_1", "onBehalf", "user"], "null"), (["create", "_1", "onBehalf", "user"], "null"),
        (["install", "_0", "parts"], "[]"), (["issue", "handles"], "[]"), (["removeUser", "_0"], "null"),
    ]

    /// The column `work` of a register job, without the handles in it.
    static let withoutHandles: String = {
        let members = Self.handles.map { (path: ["register", "_0"] + $0.path, json: $0.json) }
        let all = members.map { "'$.\($0.path.joined(separator: "."))', json('\($0.json)')" }
        let each = members.reduce(SQLStatement.postgreSQLJSON("work")) { work, member in
            "jsonb_set(\(work), '{\(member.path.joined(separator: ","))}', '\(member.json)', false)"
        }
        return SQLStatement.text(
            forSQLite: "json_replace(work, \(all.joined(separator: ", ")))",
            forPostgreSQL: "(\(each))::text"
        )
    }()

    /// Removes the handles of a register job, if that is final.
    static func removal(ofFinal job: Int64) -> SQLStatement {
        "UPDATE job SET work = \(raw: self.withoutHandles) WHERE sequence = \(job) AND finished IS NOT NULL"
    }
}
