/// In what the engines' words for the same statement differ.
package enum SQLDialect: Sendable {
    case sqlite
    case postgreSQL

    /// The text of a statement for an engine.
    package func text(of statement: SQLStatement) -> String {
        var (text, number) = ("", 0)
        self.append(statement, to: &text, &number)
        return text
    }

    private func append(_ statement: SQLStatement, to text: inout String, _ number: inout Int) {
        for part in statement.parts {
            switch part {
            case .text(let words): text += words
            case .value:
                number += 1
                text += self.placeholder(number)
            case .lock(let lock): text += self.words(of: lock)
            case .elements(let array):
                text += self == .sqlite ? "json_each(" : "jsonb_array_elements_text(CAST("
                self.append(array, to: &text, &number)
                text += self == .sqlite ? ")" : " AS jsonb))"
            }
        }
    }

    private func placeholder(_ number: Int) -> String {
        switch self {
        case .sqlite: "?"
        case .postgreSQL: "$\(number)"
        }
    }

    /// SQLite has one writer at a time: who writes holds everything.
    private func words(of lock: SQLLock) -> String {
        switch (self, lock) {
        case (.sqlite, _): ""
        case (.postgreSQL, .share): " FOR SHARE"
        // Others may go on adding rows that refer to it.
        case (.postgreSQL, .update): " FOR NO KEY UPDATE"
        }
    }
}
