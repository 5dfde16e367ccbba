import Foundation
package import Logging
import PushModel
package import Settings

/// Writes each event as one line to standard error: readable text, or JSON.
package struct LineLogHandler: LogHandler {
    let label: String
    let format: LogSettings.Format
    /// Whether each line begins with its priority in angle brackets, which the journal takes from it (sd-daemon(3)).
    let hasPriority: Bool
    /// Takes a line without its end.
    let write: @Sendable (String) -> Void

    package var logLevel: Logger.Level = .info
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    /// - Parameters:
    ///   - label: The program's name.
    ///   - format: Text or JSON.
    ///   - level: The lowest level that is written.
    ///   - hasPriority: Whether each line begins with its priority, as the journal takes it.
    ///   - write: Takes a line without its end.
    package init(
        label: String,
        format: LogSettings.Format,
        level: Logger.Level,
        hasPriority: Bool = false,
        write: @escaping @Sendable (String) -> Void = LineLogHandler.standardError
    ) {
        self.label = label
        self.format = format
        self.hasPriority = hasPriority
        self.write = write
        self.logLevel = level
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var metadata = self.metadata
        if let provided = self.metadataProvider?.get() { metadata.merge(provided) { $1 } }
        if let own = event.metadata { metadata.merge(own) { $1 } }
        if let error = event.error { metadata["error"] = "\(error)" }
        let time = Timestamp.now.iso8601
        let line =
            switch self.format {
            case .text: self.text(event, time: time, metadata: metadata)
            case .json: self.json(event, time: time, metadata: metadata)
            }
        self.write(self.hasPriority ? "<\(event.level.priority)>\(line)" : line)
    }

    private func text(_ event: LogEvent, time: String, metadata: Logger.Metadata) -> String {
        var line = "\(time) \(event.level.rawValue) \(self.label): \(Self.oneLine(event.message.description))"
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let text = value.description
            line += " \(key)=\(Self.oneLine(Self.isBare(text) ? text : Self.quoted(text)))"
        }
        return line
    }

    /// Whether a value may stand without quotes; by scalars, for a mark that combines with a quote leaves it a quote.
    private static func isBare(_ text: String) -> Bool {
        !text.isEmpty && text.unicodeScalars.allSatisfy { !$0.properties.isWhitespace && $0 != "\"" && $0 != "=" }
    }

    private static func quoted(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }
        return "\"\(scalars.joined())\""
    }

    private func json(_ event: LogEvent, time: String, metadata: Logger.Metadata) -> String {
        var members = [
            ("time", time), ("level", event.level.rawValue), ("logger", self.label),
            ("message", event.message.description),
        ].map { JSONValue.Member($0.0, .string($0.1)) }
        let own = Set(members.map(\.name))
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            members.append(JSONValue.Member(own.contains(key) ? "metadata.\(key)" : key, .string(value.description)))
        }
        // JSON lets more stand than a terminal or a reader of lines can bear; outside of strings there is none of it.
        return Self.oneLine(JSONValue.object(members).compactText) { number in
            "\\u" + String(repeating: "0", count: 4 - String(number, radix: 16).count) + String(number, radix: 16)
        }
    }

    /// The value with control characters escaped, so that it cannot begin a new line.
    private static func oneLine(
        _ text: String,
        escape: (UInt32) -> String = { "\\u{\(String($0, radix: 16))}" }
    ) -> String {
        guard text.unicodeScalars.contains(where: { Self.isControl($0) }) else { return text }
        return text.unicodeScalars.map { Self.isControl($0) ? escape($0.value) : String($0) }.joined()
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    /// Whether standard error is the journal's, by its device and file (systemd.exec(5), JOURNAL_STREAM).
    package static var isJournal: Bool {
        guard let stream = ProcessInfo.processInfo.environment["JOURNAL_STREAM"] else { return false }
        var status = stat()
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// Writes a line with a single system call, so that lines of several threads do not mix.
    ///
    /// Errors of standard error are ignored: they have no other place to go.
    package static let standardError: @Sendable (String) -> Void = { line in
        try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
}

extension LineLogHandler {
    /// Says in one line why a program cannot start or go on, at a level that an alert on the journal sees, whatever the configuration says.
    ///
    /// - Parameters:
    ///   - program: Its name.
    ///   - error: The reason; its words are for operators and have no secrets.
    ///   - format: Text or JSON.
    package static func reportEnd(of program: String, _ error: any Error, format: LogSettings.Format = .text) {
        let logger = Logger(label: program) {
            LineLogHandler(label: $0, format: format, level: .error, hasPriority: Self.isJournal)
        }
        logger.error("Ended by an error", metadata: ["error": "\(error)"])
    }
}

extension Logger.Level {
    /// As syslog counts (RFC 5424 6.2.1).
    fileprivate var priority: Int {
        switch self {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}
