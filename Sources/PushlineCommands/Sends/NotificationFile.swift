import Foundation
import PushModel

/// The file of `--json` or `--native`: JSON of a send.
enum NotificationFile {
    /// More than all services take together.
    private static let maximumSize = 1 << 20

    /// Reads the file of `--json`: members of a send.
    ///
    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - standardInput: The file read for `-`.
    /// - Returns: The object's bytes, which the send has as they are; the server checks the members.
    /// - Throws: ``CommandFailure`` if it cannot be read, or is not an object.
    static func members(_ path: String, standardInput: FileHandle = .standardInput) throws -> Data {
        let data = try Self.read(path, option: "--json", standardInput)
        let words = "it is what POST /api/sends takes but for to, such as {\"title\": \"Hello\", \"badge\": 1}"
        guard try !Self.object(data, "--json", words).isEmpty else {
            throw CommandFailure.failed("--json: it has no member; \(words)")
        }
        return data
    }

    /// Reads the file of `--native`: the value of that member.
    ///
    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - standardInput: The file read for `-`.
    /// - Returns: An object with the member, whose bytes are the file's.
    /// - Throws: ``CommandFailure`` if it cannot be read, or is not an object of objects.
    static func native(_ path: String, standardInput: FileHandle = .standardInput) throws -> Data {
        let data = try Self.read(path, option: "--native", standardInput)
        let words = #"it is the JSON of native, such as {"apns": {"payload": {"aps": {"alert": "Hello"}}}}"#
        for member in try Self.object(data, "--native", words) {
            guard case .object = member.value else {
                throw CommandFailure.failed(
                    "--native: \(Console.safe(member.name)) must be an object, not \(member.value.kind); \(words)"
                )
            }
        }
        return Data(#"{"native":"#.utf8) + data + Data("}".utf8)
    }

    private static func read(_ path: String, option: String, _ standardInput: FileHandle) throws -> Data {
        let file = try InputFile.open(path, option: option, standardInput: standardInput)
        var data = Data()
        while let piece = try file.read(upToCount: 1 << 16), !piece.isEmpty {
            data += piece
            guard data.count <= Self.maximumSize else {
                throw CommandFailure.failed("\(option): the file is too large")
            }
        }
        // It becomes part of a body, where no mark may stand.
        if data.starts(with: [0xEF, 0xBB, 0xBF]) { data.removeFirst(3) }
        return data
    }

    private static func object(_ data: Data, _ option: String, _ words: String) throws -> [JSONValue.Member] {
        let value: JSONValue
        do { value = try JSONReader.read(Array(data)) } catch {
            throw CommandFailure.failed(
                "\(option): line \(error.line), column \(error.column): \(error.reason); \(words)"
            )
        }
        guard case .object(let members) = value else {
            throw CommandFailure.failed("\(option): it must be an object, not \(value.kind); \(words)")
        }
        return members
    }
}
