package import PushModel

// Tables name an app by its number, which it has from its first mention on.

extension SQLStatement {
    /// The number of an app, as a part of a statement; NULL if it was never mentioned.
    package static func app(_ app: AppID) -> SQLStatement { "(SELECT number FROM app WHERE name = \(app.name))" }

    /// Reads the number of an app; no row where it was never mentioned.
    package static func number(of app: AppID) -> SQLStatement { "SELECT number FROM app WHERE name = \(app.name)" }

    /// Gives an app its number, unless it has one.
    package static func mention(_ app: AppID) -> SQLStatement {
        "INSERT INTO app(name) VALUES (\(app.name)) ON CONFLICT (name) DO NOTHING"
    }

    /// Lets nobody else change what an app has, or is declared as, before the transaction ends.
    static func hold(_ app: SQLStatement) -> SQLStatement {
        "SELECT number FROM app WHERE number = \(app)\(lock: .update)"
    }
}
