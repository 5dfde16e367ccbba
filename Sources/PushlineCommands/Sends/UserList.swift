import Foundation

/// The names of `--users`: a file or the standard input, a name a line.
struct UserList {
    /// The most names of a send.
    static let maximum = 20_000
    /// The most bytes of a list, with names of the greatest length and some blanks.
    private static let maximumSize = 8 << 20

    /// The names, each once.
    let names: [String]
    /// The line of each name, from 1.
    let lines: [Int]

    /// - Parameters:
    ///   - path: The file; `-` = standard input.
    ///   - standardInput: The file read for `-`.
    /// - Returns: The names and their lines.
    /// - Throws: ``CommandFailure`` if it cannot be read, or has no name or too many.
    static func read(_ path: String, standardInput: FileHandle = .standardInput) throws -> UserList {
        let file = try InputFile.open(path, option: "--users", standardInput: standardInput)
        var data = Data()
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
            data += piece
            guard data.count <= Self.maximumSize else { throw Self.tooMany }
        }
        return try UserList(data)
    }

    /// The names of a text; blanks around them and empty lines are not names.
    init(_ data: Data) throws {
        guard let text = String(validating: data, as: UTF8.self) else {
            throw CommandFailure.failed("--users: not a text in UTF-8")
        }
        var known = Set<String>()
        var names: [String] = []
        var lines: [Int] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let name = line.trimmingCharacters(in: .whitespaces)
            guard !name.isEmpty, known.insert(name).inserted else { continue }
            names.append(name)
            lines.append(index + 1)
        }
        guard !names.isEmpty else { throw CommandFailure.failed("--users: no name in it") }
        guard names.count <= Self.maximum else { throw Self.tooMany }
        self.names = names
        self.lines = lines
    }

    /// The name of a send's member in this list: `to.users[1]` becomes its line, others are unchanged.
    func name(of member: String) -> String {
        guard member.hasPrefix("to.users["), member.hasSuffix("]"), let index = Int(member.dropFirst(9).dropLast()),
            self.lines.indices.contains(index)
        else { return member }
        return "\(member), line \(self.lines[index])"
    }

    private static var tooMany: CommandFailure {
        .usage("--users: more than \(Self.maximum) names; send to them in several pieces")
    }
}
