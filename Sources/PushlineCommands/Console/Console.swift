import Foundation

/// The output of commands: results to standard output, everything else to standard error.
enum Console {
    /// Takes the output in a test.
    @TaskLocal static var capture: (@Sendable (String) -> Void)?

    /// Takes the notes in a test.
    @TaskLocal static var noteCapture: (@Sendable (String) -> Void)?

    /// Writes a line of the answer.
    static func print(_ line: String) {
        if let capture = Self.capture { return capture(line) }
        Self.write("\(line)\n", to: .standardOutput)
    }

    /// Writes a line for the person at the terminal.
    static func note(_ line: String) {
        if let capture = Self.noteCapture { return capture(line) }
        Self.write("\(line)\n", to: .standardError)
    }

    /// Writes over the line that the cursor is in.
    static func rewrite(_ line: String) {
        if let capture = Self.capture { return capture(line) }
        // Back to the beginning, write, and clear what is left of the old line.
        Self.write("\r\(line)\u{1B}[K", to: .standardOutput)
    }

    /// Writes a text; ends the process where that cannot be.
    ///
    /// A reader that has gone (`pushline jobs | head -1`) is not a fault: the process ends quietly, with the code of SIGPIPE.
    static func write(_ text: String, to file: FileHandle) { Self.write(Data(text.utf8), to: file) }

    /// The same for bytes.
    static func write(_ bytes: Data, to file: FileHandle) {
        do { try file.write(contentsOf: bytes) } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            exit(cause?.code == Int(EPIPE) ? 128 + SIGPIPE : EXIT_FAILURE)
        }
    }

    /// Whether a person sees the output.
    static var isTerminal: Bool { Self.capture == nil && isatty(STDOUT_FILENO) == 1 }

    /// Foreign text, made safe for a terminal: control characters could move the cursor or hide the following text.
    static func safe(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { Self.isControl($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: scalar != "\u{200D}"
        default: false
        }
    }
}
