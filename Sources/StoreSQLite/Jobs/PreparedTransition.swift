import PushModel
import StoreKit
import StoreSQL

/// A prepared transition, for use on many jobs.
struct PreparedTransition {
    let transition: JobTransition
    let statement: PreparedStatement
    private let end: Job.State?
    private let context: WriteContext

    init(_ transition: JobTransition, _ context: WriteContext) throws {
        self.transition = transition
        self.end = transition.end
        self.context = context
        self.statement = try PreparedStatement(transition.sql, in: context.database)
    }

    /// Runs the transition, and updates the backlog.
    ///
    /// It also counts the job's end if the target state is fixed; otherwise the caller does.
    ///
    /// - Parameters:
    ///   - values: The statement's; without any those that are bound.
    ///   - from: The job's state, if the change of the backlog depends on it.
    /// - Returns: Whether the job was in a state that the transition leaves.
    /// - Throws: SQLite's error.
    func make(_ values: (any SQLConvertible)?..., from: Job.State? = nil) throws -> Bool {
        try self.statement.bind(values)
        try self.statement.run()
        guard self.context.database.changesCount > 0 else { return false }
        if let change = self.transition.effect(from: from) { self.context.count(change) }
        if let end = self.end { self.context.countFinished(end) }
        return true
    }
}
