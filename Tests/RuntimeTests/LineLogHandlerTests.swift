import Foundation
import Installation
import Logging
import NIOConcurrencyHelpers
import PushlineLogging
import Settings
import Testing

@Suite struct LineLogHandlerTests {
    private let lines = NIOLockedValueBox<[String]>([])

    private func logger(_ format: LogSettings.Format, hasPriority: Bool = false) -> Logger {
        var logger = Logger(label: "test") { label in
            LineLogHandler(label: label, format: format, level: .info, hasPriority: hasPriority) { line in
                self.lines.withLockedValue { $0.append(line) }
            }
        }
        logger[metadataKey: "job.id"] = "7"
        return logger
    }

    @Test func anEventIsOneLineOfText() throws {
        self.logger(.text).info("Sent", metadata: ["to": "a b", "reason": "x\ny\"", "empty": ""])
        let line = try #require(self.lines.withLockedValue { $0.first })
        let parts = line.split(separator: " ", maxSplits: 1)
        #expect(parts[0].hasSuffix("Z"))
        #expect(parts[1] == #"info test: Sent empty="" job.id=7 reason="x\u{a}y\"" to="a b""#)
    }

    @Test func theJournalIsToldThePriority() throws {
        self.logger(.text, hasPriority: true).error("Bad")
        self.logger(.json, hasPriority: true).notice("Good")
        let lines = self.lines.withLockedValue { $0 }
        #expect(lines[0].hasPrefix("<3>2"))
        #expect(lines[1].hasPrefix(#"<5>{"time":"#))
    }

    @Test func anEventIsOneLineOfJSON() throws {
        self.logger(.json).error("Bad \"thing\"\u{1}", metadata: ["message": "mine", "reason": "x\ny\u{2028}\u{9B}"])
        let line = try #require(self.lines.withLockedValue { $0.first })
        #expect(!line.contains("\n"))
        #expect(line.contains(#"y\u2028\u009b""#))
        let members = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
        #expect(members["level"] == "error")
        #expect(members["message"] == "Bad \"thing\"\u{1}")
        #expect(members["metadata.message"] == "mine")
        #expect(members["reason"] == "x\ny\u{2028}\u{9B}")
        #expect(members["job.id"] == "7")
    }

    @Test func lessSevereEventsAreLeftOut() {
        self.logger(.text).debug("Quiet")
        #expect(self.lines.withLockedValue { $0.isEmpty })
    }
}
