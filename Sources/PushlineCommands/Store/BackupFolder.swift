import Foundation

/// A folder of backups that are named after their time, of which only the latest stay.
struct BackupFolder {
    let path: String
    /// How many stay.
    let most: Int

    /// The backup of a time, such as `pushline-20261126T134602Z.sqlite`: the names are ordered as the times are.
    func newFile(at time: Date) -> String { self.file("pushline-\(time.inFileName).sqlite") }

    /// Removes all but the latest; files of other names are not its own.
    ///
    /// - Returns: The files that are gone.
    func removeOld() throws -> [String] {
        let backups = try FileManager.default.contentsOfDirectory(atPath: self.path).filter(Self.isBackup).sorted()
        return try backups.dropLast(self.most).map { name in
            let file = self.file(name)
            try FileManager.default.removeItem(atPath: file)
            return file
        }
    }

    private func file(_ name: String) -> String {
        URL(filePath: self.path).appending(path: name).path(percentEncoded: false)
    }

    private static func isBackup(_ name: String) -> Bool {
        name.wholeMatch(of: #/pushline-\d{8}T\d{6}Z\.sqlite/#) != nil
    }
}

extension Date {
    /// Such as `20261126T134602Z`.
    var inFileName: String { self.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted)) }
}
