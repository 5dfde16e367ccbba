import Foundation
import PushModel
package import Store
import StoreSQL

extension SQLiteStore: StoreHealth {
    package var room: StoreRoom { StoreRoom(space: self.space(), backup: self.lastBackup) }

    private var lastBackup: Timestamp? {
        let note = try? FileManager.default.attributesOfItem(atPath: Self.backupNote(of: self.configuration.path))
        let time = note?[.modificationDate] as? Date
        return time.map { Timestamp(milliseconds: Int64($0.timeIntervalSince1970 * 1000)) }
    }

    private func space() -> StoreSpace? {
        let path = self.configuration.path
        let system = try? FileManager.default.attributesOfFileSystem(forPath: path)
        guard let store = Self.size(of: path), let free = system?[.systemFreeSize] as? NSNumber else { return nil }
        // There is no log before the first change.
        return StoreSpace(store: store, log: Self.size(of: path + "-wal") ?? 0, free: free.int64Value)
    }

    private static func size(of file: String) -> Int64? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        return (attributes?[.size] as? NSNumber)?.int64Value
    }
}
