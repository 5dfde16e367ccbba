import Foundation

/// Reads a password, never from the command line: other users of the host can see that.
enum PasswordInput {
    /// More than any password has.
    private static let maximumLength = 4096

    /// The password from a file, from standard input, or typed twice at a terminal.
    ///
    /// A line break at the end is removed.
    ///
    /// - Parameters:
    ///   - file: The file; nil = standard input.
    ///   - asksAtTerminal: Whether to ask at a terminal; otherwise it is read like any input.
    /// - Returns: The password.
    /// - Throws: ``CommandFailure``.
    static func read(file: String?, asksAtTerminal: Bool) throws -> String {
        if let file { return try Self.readFile(file) }
        guard asksAtTerminal, isatty(STDIN_FILENO) == 1 else {
            return try Self.password(Self.readAll(FileHandle.standardInput), from: "standard input")
        }
        let first = try Self.ask("Password: ")
        guard try Self.ask("The same again: ") == first else { throw CommandFailure.failed("the two are not the same") }
        return first
    }

    private static func readFile(_ path: String) throws -> String {
        let handle = try InputFile.open(path, option: "--password-file")
        defer { try? handle.close() }
        return try Self.password(Self.readAll(handle), from: path)
    }

    private static func readAll(_ handle: FileHandle) throws -> Data {
        var data = Data()
        while data.count <= Self.maximumLength, let piece = try handle.read(upToCount: Self.maximumLength),
            !piece.isEmpty
        {
            data.append(piece)
        }
        return data
    }

    static func password(_ data: Data, from place: String) throws -> String {
        guard data.count <= Self.maximumLength, var text = String(data: data, encoding: .utf8) else {
            throw CommandFailure.failed(
                "\(place): the password must be UTF-8 text of at most \(Self.maximumLength) bytes"
            )
        }
        if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
        guard !text.isEmpty else { throw CommandFailure.failed("\(place): the password is empty") }
        guard !text.contains(where: \.isNewline) else {
            throw CommandFailure.failed("\(place): the password must be one line")
        }
        return text
    }

    /// Asks at the terminal, without echo.
    private static func ask(_ prompt: String) throws -> String {
        Console.write(prompt, to: .standardError)
        var settings = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &settings) == 0 else {
            throw CommandFailure.failed("the terminal cannot be told to hide the password; use --password-file")
        }
        var hidden = settings
        hidden.c_lflag &= ~tcflag_t(ECHO)
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
            Console.write("\n", to: .standardError)
        }
        guard let line = readLine(strippingNewline: true) else { throw CommandFailure.failed("no password was typed") }
        return try Self.password(Data(line.utf8), from: "terminal")
    }
}
