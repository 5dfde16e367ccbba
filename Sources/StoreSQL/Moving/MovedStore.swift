package import Store

/// What a store has beside its tables.
package struct MovedState: Sendable, Equatable {
    /// What seals the cursors of lists; random, so it tells stores apart.
    package let cursorKey: [UInt8]
    /// What the digests of handles are made with.
    package let handleKey: [UInt8]
    /// The reading of the store's clock, in milliseconds.
    package let now: Int64
    /// How many jobs are unfinished, and how many of them scheduled.
    package let backlog: (unfinished: Int64, scheduled: Int64)

    package init(
        cursorKey: [UInt8],
        handleKey: [UInt8],
        now: Int64,
        backlog: (unfinished: Int64, scheduled: Int64)
    ) {
        (self.cursorKey, self.handleKey, self.now, self.backlog) = (cursorKey, handleKey, now, backlog)
    }

    package static func == (one: MovedState, other: MovedState) -> Bool {
        one.cursorKey == other.cursorKey && one.handleKey == other.handleKey && one.now == other.now
            && one.backlog == other.backlog
    }
}

/// A store whose rows are moved, while no program has it open; its calls wait.
package protocol MovedStore: AnyObject {
    /// The columns of a table that it has in every driver.
    ///
    /// - Throws: ``StoreError``.
    func columns(of table: MovedTable) throws -> [String]

    /// What a table's rows are read from.
    func relation(of table: MovedTable) -> String

    /// The rows of a query.
    ///
    /// - Throws: ``StoreError``.
    func rows(_ query: SQLStatement) throws -> [SQLRow]

    /// The highest number that a numbered table has used.
    ///
    /// - Throws: ``StoreError``.
    func highestNumber(of table: MovedTable) throws -> Int64

    /// - Throws: ``StoreError``.
    func state() throws -> MovedState
}

/// A store into which rows are moved.
package protocol MoveTarget: MovedStore {
    /// Takes the keys of the store that is moved, or finds that it has them from a move that was broken off.
    ///
    /// - Throws: ``StoreError``, a conflict where it has other rows.
    func begin(_ state: MovedState) throws

    /// Writes a block of rows in one transaction.
    ///
    /// - Throws: ``StoreError``.
    func write(_ rows: [[SQLValue]], _ columns: [String], to table: MovedTable) throws

    /// Makes it a store that programs open.
    ///
    /// - Parameters:
    ///   - state: What the store that is moved has beside its tables.
    ///   - numbers: The highest number that each table has used, by its name.
    ///   - act: The act that the move is, whose entry is written too.
    /// - Throws: ``StoreError``.
    func finish(_ state: MovedState, numbers: [String: Int64], by act: NewAct?) throws
}
