import Foundation
package import PushModel
package import Store
import StoreKit
import StoreSQL

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
        let id = RegistrationID.random().text
        return try await self.perform(ContentTable.put(content, id: id, app: app, quota: quota, at: self.clock.wall))
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
