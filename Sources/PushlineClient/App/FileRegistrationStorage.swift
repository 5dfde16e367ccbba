public import Foundation

/// Keeps a registration in a file that only its owner can read, and that backups leave out.
public struct FileRegistrationStorage: RegistrationStorage {
    /// The file.
    public let file: URL

    /// Keeps it in that file; its folder is made where there is none.
    public init(file: URL) {
        self.file = file
    }

    /// Reads the file.
    public func read() throws -> Data? {
        do {
            return try Data(contentsOf: self.file)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        } catch {
            throw self.failure("read", error.localizedDescription)
        }
    }

    /// Writes a new file and puts it in the old one's place, so that a crash leaves one of the two.
    public func write(_ data: Data) throws {
        let folder = self.file.deletingLastPathComponent()
        let fresh = folder.appending(path: ".\(self.file.lastPathComponent).\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try Self.create(fresh, data)
            guard unsafe rename(Self.path(fresh), Self.path(self.file)) == 0 else { throw Self.systemError() }
        } catch {
            try? FileManager.default.removeItem(at: fresh)
            throw self.failure("written", error.localizedDescription)
        }
    }

    private static func create(_ file: URL, _ data: Data) throws {
        let descriptor = unsafe Foundation.open(Self.path(file), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.systemError() }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: data)
        try handle.synchronize()
        try handle.close()
        #if canImport(Darwin)
        var file = file
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try file.setResourceValues(values)
        #endif
    }

    private static func path(_ file: URL) -> String { file.path(percentEncoded: false) }

    private static func systemError() -> POSIXError { POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }

    private func failure(_ verb: String, _ reason: String) -> PushlineError {
        PushlineError(.storage, "the registration's file \(Self.path(self.file)) cannot be \(verb): \(reason)")
    }
}
