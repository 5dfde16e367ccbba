/// A span's place in its trace, as it travels: in the header of requests and messages, and with a job in its row.
///
/// What other tracing systems say to one another in `tracestate` ends here: it is a caller's free text, and nothing that we ask is told it.
///
/// A reference: where nothing is traced there is none, and what may carry one stays small.
///
/// Source: W3C Trace Context, Level 2.
package final class SpanContext: Sendable {
    package let trace: TraceID
    package let span: SpanID
    /// Whether it is recorded.
    package let isSampled: Bool

    package init(trace: TraceID, span: SpanID, isSampled: Bool) {
        self.trace = trace
        self.span = span
        self.isSampled = isSampled
    }

    private static let version = 0
    private static let sampledFlag: UInt64 = 1
    /// The octets of `traceparent` in the version that is written.
    private static let length = 55

    /// Reads the header that somebody sent: nil where it is not as it must be.
    ///
    /// - Parameter parent: The value of `traceparent`; of a later version its beginning counts.
    package convenience init?(traceparent parent: String) {
        let octets = Array(parent.utf8.prefix(Self.length + 1))
        let dash = UInt8(ascii: "-")
        guard octets.count >= Self.length, [2, 35, 52].allSatisfy({ octets[$0] == dash }),
            let version = UInt64(hexDigits: octets[0..<2]), version != 0xff,
            version == Self.version ? octets.count == Self.length : octets.count == Self.length || octets.last == dash,
            let high = UInt64(hexDigits: octets[3..<19]), let low = UInt64(hexDigits: octets[19..<35]),
            let trace = TraceID(high: high, low: low),
            let span = UInt64(hexDigits: octets[36..<52]).flatMap(SpanID.init),
            let flags = UInt64(hexDigits: octets[53..<55])
        else { return nil }
        self.init(trace: trace, span: span, isSampled: flags & Self.sampledFlag != 0)
    }

    /// The value of `traceparent` for whoever comes next.
    package var traceparent: String { "00-\(self.trace)-\(self.span)-\(self.isSampled ? "01" : "00")" }
}

extension SpanContext: Hashable {
    package static func == (left: SpanContext, right: SpanContext) -> Bool {
        left === right
            || left.trace == right.trace && left.span == right.span && left.isSampled == right.isSampled
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.span) }
}

/// Names a trace: 128 bits, not all of them zero.
package struct TraceID: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    package init?(high: UInt64, low: UInt64) {
        guard high | low != 0 else { return nil }
        (self.high, self.low) = (high, low)
    }

    /// One that no other trace has.
    package static func random() -> TraceID {
        TraceID(high: .random(in: .min ... .max), low: .random(in: 1 ... .max)) ?? .random()
    }

    package var description: String { self.high.hexDigits + self.low.hexDigits }
}

/// Names a span within its trace: 64 bits, not all of them zero.
package struct SpanID: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt64

    package init?(_ number: UInt64) {
        guard number != 0 else { return nil }
        self.number = number
    }

    package static func random() -> SpanID { SpanID(.random(in: 1 ... .max)) ?? .random() }

    package var description: String { self.number.hexDigits }
}

extension UInt64 {
    /// Reads hexadecimal digits in lower case, the only ones that W3C allows.
    fileprivate init?(hexDigits octets: ArraySlice<UInt8>) {
        var number: UInt64 = 0
        for octet in octets {
            switch octet {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(octet - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(octet - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        self = number
    }

    /// Sixteen hexadecimal digits.
    fileprivate var hexDigits: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
