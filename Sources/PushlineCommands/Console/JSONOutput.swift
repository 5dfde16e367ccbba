import Foundation
import PushModel

/// JSON for programs that read our output: answers of the API.
enum JSONOutput {
    /// The API's answer unchanged, with sorted members and indented by two spaces.
    static func encoded(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.iso8601)
        }
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

extension Date {
    /// RFC 3339 in UTC with milliseconds.
    var iso8601: String {
        Timestamp(milliseconds: Int64((self.timeIntervalSince1970 * 1000).rounded())).iso8601
    }
}
