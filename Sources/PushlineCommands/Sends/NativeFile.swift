import Foundation
import PushlineClient

/// The file of `--native`: the JSON of a send's member `native`.
enum NativeFile {
    /// More than all services take together.
    private static let maximumSize = 1 << 20

    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - standardInput: The file read for `-`.
    /// - Returns: The payloads.
    /// - Throws: ``CommandFailure`` if it cannot be read, or is no such JSON.
    static func read(_ path: String, standardInput: FileHandle = .standardInput) throws -> NativePayloads {
        let file = try InputFile.open(path, option: "--native", standardInput: standardInput)
        var data = Data()
        while let piece = try file.read(upToCount: 1 << 16), !piece.isEmpty {
            data += piece
            guard data.count <= Self.maximumSize else { throw CommandFailure.failed("--native: the file is too large") }
        }
        do {
            let native = try JSONDecoder().decode(NativePayloads.self, from: data)
            // A misspelt member would be left out in silence.
            let known = try JSONDecoder().decode(JSON.self, from: JSONEncoder().encode(native))
            guard try JSONDecoder().decode(JSON.self, from: data) == known else {
                throw CommandFailure.failed("--native: a member that a send does not know, or one that is null")
            }
            return native
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure.failed(
                "--native: not the JSON of native, such as {\"apns\": {\"payload\": {\"aps\": {\"alert\": \"Hello\"}}}}"
            )
        }
    }
}
