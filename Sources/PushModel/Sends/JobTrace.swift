/// A job as lines of the log name it: by its id, and by that of the request that asked for it.
package struct JobTrace: Hashable, Sendable {
    package let job: JobID
    /// nil if nothing is known of it.
    package let request: RequestID?

    package init(_ job: JobID, request: RequestID? = nil) {
        self.job = job
        self.request = request
    }
}

/// The id of a request, by which its lines are found in the logs of all programs: ours, or one that a trusted proxy gave it.
package struct RequestID: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// The request's span, where that is recorded: spans of what came of the request are under it.
    package let span: SpanContext?

    /// - Parameters:
    ///   - text: 1 to 64 letters, digits, `-`, `_` and `.`, so that nothing in it can be taken for another field or line; nil for any
    ///     other text.
    ///   - span: Its span; one that is not sampled counts as none.
    package init?(_ text: String, span: SpanContext? = nil) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.description = text
        self.span = span?.isSampled == true ? span : nil
    }

    /// Reads ``stored``: a program that knows no spans takes no id from a text with one.
    package init?(stored text: String) {
        guard let space = text.utf8.firstIndex(of: UInt8(ascii: " ")) else {
            self.init(text)
            return
        }
        self.init(String(text[..<space]), span: SpanContext(traceparent: String(text[space...].dropFirst())))
    }

    /// As a job's row has it: the id, and behind it the `traceparent` of a request with a span.
    package var stored: String {
        self.span.map { "\(self.description) \($0.traceparent)" } ?? self.description
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
