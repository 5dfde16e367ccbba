/// In what the engines' words for the same statement differ.
package enum SQLDialect: Sendable {
    case sqlite
    case postgreSQL

    /// The text of a statement for an engine.
    package func text(of statement: SQLStatement) -> String {
        var text = ""
        var number = 0
        for part in statement.parts {
            switch part {
            case .text(let words): text += words
            case .value:
                number += 1
                text += self.placeholder(number)
            case .lock(let lock): text += self.words(of: lock)
            }
        }
        return text
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
