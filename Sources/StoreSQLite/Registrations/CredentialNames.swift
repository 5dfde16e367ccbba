import PushModel
import Store
import StoreKit

/// Turns the numbers of the column `credential` into names, while a page is read.
struct CredentialNames {
    static let name = "SELECT name FROM credential WHERE number = ?"

    private let database: Database
    private var known: [Int64: CredentialName] = [:]

    init(_ database: Database) { self.database = database }

    /// Notes the next device's credential.
    ///
    /// - Parameters:
    ///   - number: The column; 0 = NULL, the default one.
    ///   - index: The device's place in the page.
    ///   - credentials: The page's.
    /// - Throws: ``StoreError``, or SQLite's error.
    mutating func append(_ number: Int64, at index: Int, to credentials: inout DeviceCredentials) throws {
        guard number != 0 else { return }
        credentials.append(try self.name(number), at: index)
    }

    private mutating func name(_ number: Int64) throws -> CredentialName {
        if let known = self.known[number] { return known }
        guard let name: String = try self.database.value(Self.name, [number]) else {
            throw StoreError.namelessCredential
        }
        let found = try CredentialName(stored: name)
        self.known[number] = found
        return found
    }
}

extension Database {
    /// The number of a credential, given now if need be; nil for the default one.
    func ensureNumber(of credential: CredentialName, _ pns: PushService, app: Int64) throws -> Int64? {
        guard credential != .default else { return nil }
        let values: Database.Values = [app, pns.number, credential.name]
        let sql = "SELECT number FROM credential WHERE app = ? AND pns = ? AND name = ?"
        if let found: Int64 = try self.value(sql, values) { return found }
        try self.run("INSERT INTO credential(app, pns, name) VALUES (?, ?, ?)", values)
        return self.lastInsertedRowID
    }
}
