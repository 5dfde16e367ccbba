import StoreSQL

/// The present row of a statement, read by the names of its columns; good until the statement's next step.
///
/// The tables are STRICT, and each statement names its columns. So a column that is not there, or is of another kind than is asked for,
/// is a fault of the program, which ends it.
struct Row {
    private let statement: PreparedStatement
    private let columns: [String]

    init(_ statement: PreparedStatement) {
        self.statement = statement
        self.columns = statement.columns
    }

    subscript<Value: SQLConvertible>(column: String) -> Value {
        guard let index = self.columns.firstIndex(of: column) else { preconditionFailure("no column \(column)") }
        return self[index]
    }

    subscript<Value: SQLConvertible>(index: Int) -> Value {
        guard let value = Value(sqlValue: self.statement.value(Int32(index))) else {
            preconditionFailure("column \(index) is of another kind than \(Value.self)")
        }
        return value
    }

    /// The only column.
    func only<Value: SQLConvertible>() -> Value { self[0] }
}
