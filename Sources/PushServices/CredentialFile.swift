import Crypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A file that an app or the configuration names: read once, and watched for change.
package struct CredentialFile: Sendable {
    /// More than any key, certificate bundle or service account holds.
    static let maximumSize = 1024 * 1024

    let path: String
    private var stamp: Stamp
    private var digest: SHA256.Digest

    /// The file's attributes that change when it is written or replaced.
    private struct Stamp: Sendable, Equatable {
        let modified: Date?
        let size: UInt64?
        let number: UInt64?

        init(path: String) throws {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            self.modified = attributes[.modificationDate] as? Date
            self.size = attributes[.size] as? UInt64
            self.number = attributes[.systemFileNumber] as? UInt64
        }
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - setting: The setting that names it, for the error.
    /// - Returns: The file as it can be watched, and its content.
    /// - Throws: ``SenderError/Code/unreadableFile`` or ``SenderError/Code/invalid``, without the content.
    package static func read(
        _ path: String,
        setting: String
    ) throws(SenderError) -> (file: CredentialFile, content: [UInt8]) {
        let content: [UInt8]
        let stamp: Stamp
        do {
            stamp = try Stamp(path: path)
            if let size = stamp.size, size > UInt64(CredentialFile.maximumSize) {
                throw SenderError(.invalid, "\(setting): the file \(path) is larger than 1 MiB; name the right file")
            }
            content = Array(try Data(contentsOf: URL(filePath: path)))
        } catch let error as SenderError {
            throw error
        } catch {
            throw SenderError(
                .unreadableFile,
                "\(setting): the file \(path) cannot be read; put it there, readable for the user that the worker runs as"
            )
        }
        guard !content.isEmpty else {
            throw SenderError(.invalid, "\(setting): the file \(path) is empty")
        }
        return (CredentialFile(path: path, stamp: stamp, digest: SHA256.hash(data: content)), content)
    }

    /// Whether the content is another than when it was read; a file that went away has changed.
    package mutating func hasChanged() -> Bool {
        guard let stamp = try? Stamp(path: self.path) else { return true }
        if stamp == self.stamp { return false }
        guard let content = try? Data(contentsOf: URL(filePath: self.path)),
            SHA256.hash(data: content) == self.digest
        else { return true }
        self.stamp = stamp
        return false
    }
}
