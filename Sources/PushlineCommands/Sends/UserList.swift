import Foundation

/// The names of `--users`: a file or the standard input, a name a line.
enum UserList {
    /// The most names of a send.
    static let maximum = 20_000
    /// No list of so many names is longer, with some blanks.
    private static let maximumSize = 8 << 20

    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - standardInput: What `-` reads.
    /// - Returns: The names, each once.
    /// - Throws: ``CommandFailure`` when it cannot be read, or has no name or too many.
    static func read(_ path: String, standardInput: FileHandle) throws -> [String] {
        let file: FileHandle
        if path == "-" {
            file = standardInput
        } else {
            guard let opened = FileHandle(forReadingAtPath: path) else {
                throw CommandFailure.usage("--users: \(path) cannot be read")
            }
            file = opened
        }
        defer { if path != "-" { try? file.close() } }
        var data = Data()
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
            data += piece
            guard data.count <= Self.maximumSize else { throw Self.tooMany }
        }
        return try Self.names(in: data)
    }

    /// The names of a text; blanks around them and empty lines do not count.
    static func names(in data: Data) throws -> [String] {
        guard let text = String(validating: data, as: UTF8.self) else {
            throw CommandFailure.usage("--users: not a text in UTF-8")
        }
        var known = Set<String>()
        let names = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && known.insert($0).inserted }
        guard !names.isEmpty else { throw CommandFailure.usage("--users: no name in it") }
        guard names.count <= Self.maximum else { throw Self.tooMany }
        return names
    }

    private static var tooMany: CommandFailure {
        .usage("--users: more than \(Self.maximum) names; send to them in several pieces")
    }
}
