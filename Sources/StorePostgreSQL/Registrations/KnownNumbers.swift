import NIOConcurrencyHelpers
import PushModel
import Store
import StoreKit
import StoreSQL

/// The numbers that stand for apps and for credentials: they never change, so that each is looked up once a process.
final class KnownNumbers: Sendable {
    private struct Known {
        var apps: [AppID: Int64] = [:]
        var credentials: [Int64: CredentialName] = [:]
    }

    private let known = NIOLockedValueBox(Known())

    func app(_ name: AppID) -> Int64? { self.known.withLockedValue { $0.apps[name] } }

    func keep(_ number: Int64, of app: AppID) { self.known.withLockedValue { $0.apps[app] = number } }

    /// Those of some numbers that are known, the default one's among them.
    func credentials(_ numbers: Set<Int64>) -> [Int64: CredentialName] {
        self.known.withLockedValue { known in
            numbers.reduce(into: [0: .default]) { found, number in
                if let name = known.credentials[number] { found[number] = name }
            }
        }
    }

    /// Reads the names of credentials.
    static func names(of credentials: [Int64]) -> SQLStatement {
        "SELECT number, name FROM credential WHERE number IN (\(numbers: credentials))"
    }

    /// Keeps the rows of ``names(of:)``.
    func keep(_ rows: [SQLRow]) throws {
        let names = try rows.map { (try $0["number"] as Int64, try CredentialName(stored: $0["name"])) }
        self.known.withLockedValue { known in
            for (number, name) in names { known.credentials[number] = name }
        }
    }
}

extension PostgreSQLStore {
    /// The number of an app, given now if need be.
    func number(of app: AppID) async throws -> Int64 {
        if let known = self.numbers.app(app) { return known }
        let read = SQLStatement.number(of: app)
        while true {
            if let number: Int64 = try await self.rows(read).first?["number"] {
                self.numbers.keep(number, of: app)
                return number
            }
            try await self.perform(SQLTransaction(SQLDecision(writing: [.mention(app)], giving: ())))
        }
    }
}
