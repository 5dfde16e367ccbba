import Foundation
import PushModel

/// The file of `--native`: the JSON of a send's member `native`.
enum NativeFile {
    /// More than all services take together.
    private static let maximumSize = 1 << 20

    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - standardInput: The file read for `-`.
    /// - Returns: The file's bytes, which the send has as they are; the server checks the members.
    /// - Throws: ``CommandFailure`` if it cannot be read, or is no object of objects.
    static func read(_ path: String, standardInput: FileHandle = .standardInput) throws -> Data {
        let file = try InputFile.open(path, option: "--native", standardInput: standardInput)
        var data = Data()
        while let piece = try file.read(upToCount: 1 << 16), !piece.isEmpty {
            data += piece
            guard data.count <= Self.maximumSize else { throw CommandFailure.failed("--native: the file is too large") }
        }
        // It becomes part of a body, where no mark may stand.
        if data.starts(with: [0xEF, 0xBB, 0xBF]) { data.removeFirst(3) }
        try Self.check(data)
        return data
    }

    private static func check(_ data: Data) throws {
        let value: JSONValue
        do { value = try JSONReader.read(Array(data)) } catch {
            throw Self.failure("line \(error.line), column \(error.column): \(error.reason)")
        }
        guard case .object(let members) = value else { throw Self.failure("it must be an object, not \(value.kind)") }
        for member in members {
            guard case .object = member.value else {
                throw Self.failure("\(Console.safe(member.name)) must be an object, not \(member.value.kind)")
            }
        }
    }

    private static func failure(_ reason: String) -> CommandFailure {
        .failed(
            "--native: \(reason); it is the JSON of native, such as {\"apns\": {\"payload\": {\"aps\": {\"alert\": \"Hello\"}}}}"
        )
    }
}
