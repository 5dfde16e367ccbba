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
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }

    /// Writes a line for the person at the terminal.
    static func note(_ line: String) {
        if let capture = Self.noteCapture { return capture(line) }
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }

    /// Writes over the line that the cursor is in.
    static func rewrite(_ line: String) {
        if let capture = Self.capture { return capture(line) }
        // Back to the beginning, write, and clear what is left of the old line.
        FileHandle.standardOutput.write(Data("\r\(line)\u{1B}[K".utf8))
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
