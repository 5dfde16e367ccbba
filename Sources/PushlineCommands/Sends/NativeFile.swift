import Foundation
import PushlineClient

/// The file of `--native`: the JSON of a send's member `native`.
enum NativeFile {
    /// More than all services take together.
    private static let maximumSize = 1 << 20

    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - standardInput: The file read for `-`.
    /// - Returns: The payloads, whose members the server checks.
    /// - Throws: ``CommandFailure`` if it cannot be read, or is no object of objects.
    static func read(_ path: String, standardInput: FileHandle = .standardInput) throws -> [Platform: NativePayload] {
        let file = try InputFile.open(path, option: "--native", standardInput: standardInput)
        var data = Data()
        while let piece = try file.read(upToCount: 1 << 16), !piece.isEmpty {
            data += piece
            guard data.count <= Self.maximumSize else { throw CommandFailure.failed("--native: the file is too large") }
        }
        do {
            return try JSONDecoder().decode([Platform: NativePayload].self, from: data)
        } catch {
            throw CommandFailure.failed(
                "--native: not the JSON of native, such as {\"apns\": {\"payload\": {\"aps\": {\"alert\": \"Hello\"}}}}"
            )
        }
    }
}
