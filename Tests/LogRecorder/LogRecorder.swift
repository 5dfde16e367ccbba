package import Logging
import NIOConcurrencyHelpers
import PushlineLogging

/// Keeps what is logged, with the fields of the task's ``LogContext`` as a program's lines have them.
package final class LogRecorder: Sendable {
    package struct Line: Sendable {
        package let level: Logger.Level
        package let message: String
        package let fields: [String: String]
    }

    private let kept = NIOLockedValueBox<[Line]>([])

    package init() {}

    package var lines: [Line] { self.kept.withLockedValue { $0 } }

    /// A logger whose lines are kept.
    package func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "test") { _ in
            var handler = Handler(recorder: self)
            handler.logLevel = level
            return handler
        }
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = self.metadata.merging(LogContext.provider.get()) { $1 }.merging(event.metadata ?? [:]) { $1 }
            let fields = all.mapValues(\.description)
            let line = Line(level: event.level, message: event.message.description, fields: fields)
            self.recorder.kept.withLockedValue { $0.append(line) }
        }
    }
}
