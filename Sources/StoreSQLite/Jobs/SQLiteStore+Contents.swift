import Foundation
import GRDB
package import PushModel
package import Store
import StoreKit

extension SQLiteStore: ContentStore {
    package func put(
        _ content: StoredContent,
        app: AppID,
        quota: AppSpec.Contents
    ) async throws -> ContentAcceptance {
        let cost = ContentAcceptance.cost(of: content)
        if let free = FileSystem.freeBytes(at: self.configuration.path), free - cost < self.configuration.reserve {
            return .diskIsNearlyFull
        }
        return try await self.write { context in
            let number = try context.database.ensureNumber(of: app)
            let uploader = content.owner.map(\.caller) ?? "key:\(content.key ?? "")"
            let own = try context.database.contentUsage(app: number, of: uploader)
            guard own + cost <= quota.accountBytes else { return .accountIsFull(used: own) }
            let all = try context.database.contentUsage(app: number, of: "")
            guard all + cost <= quota.appBytes else { return .appIsFull(used: all) }
            let id = RegistrationID.random().text
            try context.database.insert(content, id: id, app: number, at: context.wall.milliseconds)
            return .kept(id)
        }
    }

    package func content(_ id: String, app: AppID) async throws -> StoredContent? {
        try await self.read { database in
            guard let number = try database.number(of: app) else { return nil }
            let statement = try RawStatement(
                "SELECT owner, key, media_type, bytes FROM content WHERE app = ? AND id = ?",
                in: database
            )
            try statement.bind(number, at: 1)
            try statement.bind(id, at: 2)
            guard try statement.step() else { return nil }
            defer { statement.reset() }
            return StoredContent(
                owner: try statement.text(0).map { try UserName(stored: $0, shown: nil) },
                key: statement.text(1),
                mediaType: statement.text(2) ?? "",
                bytes: statement.bytes(3)
            )
        }
    }
}

extension Database {
    /// How many bytes of contents an uploader has, or all of the app with the name "".
    fileprivate func contentUsage(app: Int64, of uploader: String) throws -> Int {
        try self.first("SELECT bytes FROM content_usage WHERE app = ? AND uploader = ?", [app, uploader]) { $0[0] } ?? 0
    }

    /// Without a copy of the bytes but SQLite's own, which does not stay.
    fileprivate func insert(_ content: StoredContent, id: String, app: Int64, at time: Int64) throws {
        let statement = try RawStatement(
            "INSERT INTO content(app, id, owner, key, media_type, bytes, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
            in: self
        )
        defer { statement.clear() }
        try statement.bind(app, at: 1)
        try statement.bind(id, at: 2)
        try statement.bind(content.owner?.key.text, at: 3)
        try statement.bind(content.key, at: 4)
        try statement.bind(content.mediaType, at: 5)
        try statement.bind(content.bytes, at: 6)
        try statement.bind(time, at: 7)
        try statement.run()
    }
}

/// How full the disk is.
enum FileSystem {
    /// The bytes free for this user on the file's disk; nil if unknown.
    static func freeBytes(at path: String) -> Int? {
        var found = statvfs()
        guard unsafe statvfs(path, &found) == 0 else { return nil }
        return Int(found.f_bavail) * Int(found.f_frsize)
    }
}
