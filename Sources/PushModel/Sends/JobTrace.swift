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

    /// - Parameter text: 1 to 64 letters, digits, `-`, `_` and `.`, so that nothing in it can be taken for another field or line; nil for
    ///   any other text.
    package init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else { return nil }
        self.description = text
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
