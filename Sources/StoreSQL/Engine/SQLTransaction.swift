/// A change in two halves: what it reads, and what it writes by a decision that only knows what was read.
///
/// No lock is held while Swift decides. So each write is guarded by what was read, in its condition or by ``SQLStatement/expecting(_:)``;
/// where one finds something else, nothing is written, and the whole is done again. An engine sends each half together.
package struct SQLTransaction<Value: Sendable>: Sendable {
    package let reads: [SQLStatement]
    /// Decides by the rows of each read.
    package let decide: @Sendable ([[SQLRow]]) throws -> SQLDecision<Value>

    package init(
        reading reads: [SQLStatement],
        decide: @escaping @Sendable ([[SQLRow]]) throws -> SQLDecision<Value>
    ) {
        self.reads = reads
        self.decide = decide
    }

    /// A change that needs to read nothing.
    package init(_ decision: SQLDecision<Value>) {
        self.init(reading: []) { _ in decision }
    }

    /// The same, with more to write.
    func adding(_ writes: [SQLStatement]) -> SQLTransaction {
        SQLTransaction(reading: self.reads) { try self.decide($0).adding(writes) }
    }
}

/// What a transaction writes, and its value.
package struct SQLDecision<Value: Sendable>: Sendable {
    package let writes: [SQLStatement]
    private let value: @Sendable ([SQLAnswer]) throws -> Value

    /// - Parameters:
    ///   - writes: The statements; none = nothing is written.
    ///   - value: The value by the answers to them; what it throws undoes them.
    package init(writing writes: [SQLStatement], value: @escaping @Sendable ([SQLAnswer]) throws -> Value) {
        self.writes = writes
        self.value = value
    }

    /// Nothing is written.
    package static func nothing(_ value: Value) -> SQLDecision { SQLDecision(writing: []) { _ in value } }

    fileprivate func adding(_ more: [SQLStatement]) -> SQLDecision {
        SQLDecision(writing: self.writes + more, value: self.value)
    }

    /// Runs the writes, in a transaction of the caller's.
    ///
    /// - Throws: ``ReadIsOld`` where a guard finds something else than was read; the transaction must then be undone.
    package func run(_ send: (SQLStatement) throws -> SQLAnswer) throws -> Value {
        let answers = try self.writes.map { statement in
            let answer = try send(statement)
            if let expected = statement.expectedRows, expected != answer.count { throw ReadIsOld() }
            return answer
        }
        return try self.value(answers)
    }
}

/// What a transaction has read was changed before it wrote.
package struct ReadIsOld: Error {
    package init() {}
}
