import Foundation
import Settings
package import Store
import StorePostgreSQL
import StoreSQL
import StoreSQLite

/// Where a store is moved from, or to.
package enum MovePlace: Sendable {
    case file(String)
    /// Servers, as the programs name them.
    case servers(String)

    /// - Parameter text: The name of a file, or an address that begins with `postgresql://`.
    package init(_ text: String) {
        let isAddress = ["postgresql://", "postgres://"].contains { text.hasPrefix($0) }
        self = isAddress ? .servers(text) : .file(text)
    }

    /// In people's words; an address that cannot be read is not repeated.
    package var description: String {
        switch self {
        case .file(let path): URL(filePath: path).path(percentEncoded: false)
        case .servers(let url): (try? ServerAddresses(url).description) ?? "PostgreSQL"
        }
    }
}

extension Composition {
    /// Moves a store into another driver's, or goes on with a move that was broken off; blocks the thread.
    ///
    /// - Parameters:
    ///   - source: Where it is; it stays as it is.
    ///   - target: Where it is to be.
    ///   - owner: Who owns the tables in PostgreSQL.
    ///   - act: The act that it is.
    ///   - progress: Told how many rows are moved, of how many; it may break the move off.
    /// - Returns: How many rows it has.
    /// - Throws: `StoreError`: programs are connected, the target has rows of another store, or what happened on the way;
    ///   ``ConfigurationError``.
    package static func move(
        from source: MovePlace,
        to target: MovePlace,
        as owner: TableOwner?,
        by act: NewAct,
        progress: (_ count: Int, _ total: Int) throws -> Void
    ) throws -> Int {
        let from: any MovedStore =
            switch source {
            case .file(let path): try MovedFile(from: path)
            case .servers(let url): try Self.database(url, as: owner, isNew: false)
            }
        let into: any MoveTarget =
            switch target {
            case .file(let path): try MovedFile(to: path)
            case .servers(let url): try Self.database(url, as: owner, isNew: true)
            }
        return try StoreMove(from: from, to: into, by: act).run(progress: progress)
    }

    private static func database(_ url: String, as owner: TableOwner?, isNew: Bool) throws -> MovedDatabase {
        let addresses = try ServerAddresses(url)
        guard let owner else {
            throw ConfigurationError(
                "PostgreSQL: give --owner ROLE --password-file FILE: the role that owns the tables"
            )
        }
        guard let programs = addresses.role else {
            throw ConfigurationError("the address names no role for the programs: postgresql://ROLE@HOST/DATABASE")
        }
        guard programs != owner.role else {
            throw ConfigurationError("the programs' role \(programs) must not own the tables: give --owner another one")
        }
        return try owner.askingForPassword {
            try MovedDatabase(
                addresses.connecting(as: owner.role, passwordFile: owner.passwordFile),
                programs: programs,
                makesTables: isNew
            )
        }
    }
}
