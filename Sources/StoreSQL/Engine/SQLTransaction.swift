import Store
import StoreKit

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

    /// A change that reads with one statement.
    package init(
        reading read: SQLStatement,
        decide: @escaping @Sendable ([SQLRow]) throws -> SQLDecision<Value>
    ) {
        self.init(reading: [read]) { try decide($0[0]) }
    }

    /// One that reads with two.
    init(
        reading first: SQLStatement,
        _ second: SQLStatement,
        decide: @escaping @Sendable ([SQLRow], [SQLRow]) throws -> SQLDecision<Value>
    ) {
        self.init(reading: [first, second]) { try decide($0[0], $0[1]) }
    }

    /// One that reads with three.
    init(
        reading first: SQLStatement,
        _ second: SQLStatement,
        _ third: SQLStatement,
        decide: @escaping @Sendable ([SQLRow], [SQLRow], [SQLRow]) throws -> SQLDecision<Value>
    ) {
        self.init(reading: [first, second, third]) { try decide($0[0], $0[1], $0[2]) }
    }

    /// A change that needs to read nothing.
    package init(_ decision: SQLDecision<Value>) {
        self.init(reading: []) { _ in decision }
    }

    /// The same, with more to write.
    func adding(_ writes: [SQLStatement]) -> SQLTransaction {
        SQLTransaction(reading: self.reads) { try self.decide($0).adding(writes) }
    }

    /// The same, with the entry of the act that it is, where it writes anything.
    func recording(_ entry: SQLStatement) -> SQLTransaction {
        SQLTransaction(reading: self.reads) { rows in
            let decision = try self.decide(rows)
            return decision.writes.isEmpty ? decision : decision.adding([entry])
        }
    }
}

/// What a transaction writes, and its value.
package struct SQLDecision<Value: Sendable>: Sendable {
    /// Where the value comes from.
    private enum Source {
        case decision(Value)
        case answers(@Sendable ([SQLAnswer]) throws -> Value, recover: (@Sendable () throws -> Value)?)
    }

    package let writes: [SQLStatement]
    private let source: Source

    private init(_ writes: [SQLStatement], _ source: Source) { (self.writes, self.source) = (writes, source) }

    /// A value that is known before anything is written.
    ///
    /// - Parameters:
    ///   - writes: The statements; none = nothing is written.
    ///   - value: The value.
    package init(writing writes: [SQLStatement], giving value: Value) { self.init(writes, .decision(value)) }

    /// - Parameters:
    ///   - writes: The statements; none = nothing is written.
    ///   - recover: The value where they are committed and the answers to them are lost; ``ReadIsOld`` = all is to be done again. nil = an
    ///     engine whose answers can be lost has them before it commits, which costs a round trip, with the rows held.
    ///   - value: The value by the answers to them. What refuses the writes is a guard of theirs: an engine may have committed them
    ///     when this is called, so it throws only where an answer cannot be read.
    package init(
        writing writes: [SQLStatement],
        recover: (@Sendable () throws -> Value)? = nil,
        value: @escaping @Sendable ([SQLAnswer]) throws -> Value
    ) {
        self.init(writes, .answers(value, recover: recover))
    }

    /// One statement is written.
    init(writing write: SQLStatement, value: @escaping @Sendable (SQLAnswer) throws -> Value) {
        self.init(writing: [write]) { try value($0[0]) }
    }

    /// Nothing is written.
    package static func nothing(_ value: Value) -> SQLDecision { SQLDecision(writing: [], giving: value) }

    /// Whether the answers to the writes must be there before these are committed, for nobody could say the value without them.
    package var awaitsAnswers: Bool {
        if case .answers(_, recover: nil) = self.source { true } else { false }
    }

    fileprivate func adding(_ more: [SQLStatement]) -> SQLDecision { SQLDecision(self.writes + more, self.source) }

    /// Runs the writes, in a transaction of the caller's.
    ///
    /// - Throws: ``ReadIsOld`` where a guard finds something else than was read, or its own error; the transaction must then be undone.
    package func run(_ send: (SQLStatement) throws -> SQLAnswer) throws -> Value {
        let answers = try self.writes.map { statement in
            let answer = try send(statement)
            if let expected = statement.expectedRows, expected != answer.count { throw statement.guardError }
            return answer
        }
        return try self.value(of: answers)
    }

    /// The value where an engine has sent all writes together, and their guards have held.
    ///
    /// - Parameter answers: The answers to them; of a guard only the number of rows is known. nil = they are lost, and the writes are
    ///   committed.
    /// - Returns: The value.
    /// - Throws: ``StoreError`` where an answer cannot be read; ``ReadIsOld`` where all is to be done again.
    package func value(of answers: [SQLAnswer]?) throws -> Value {
        switch self.source {
        case .decision(let value): return value
        case .answers(let value, let recover):
            if let answers { return try value(answers) }
            guard let recover else { throw StoreError(.unknown, "the answers to a commit are lost") }
            return try recover()
        }
    }
}

/// What a transaction has read was changed before it wrote.
package struct ReadIsOld: Error {
    /// Whether a row has what only one may have, and what this one would have written.
    private let isTaken: Bool

    package init(isTaken: Bool = false) { self.isTaken = isTaken }

    /// What is said where it is so each time that all is done again: then a row that nothing was read of is in the way, or others are.
    var whenItStays: StoreError { self.isTaken ? .taken : .contended }
}
