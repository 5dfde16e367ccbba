#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A moment of the wall clock, in milliseconds since 1970-01-01T00:00:00Z.
///
/// For what people and push services read (created, expires, sent). Leases and delays are `Duration`s, for the wall clock
/// may jump.
package struct Timestamp: Codable, Hashable, Sendable, Comparable {
    /// Milliseconds since the Unix epoch.
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package init(from decoder: any Decoder) throws {
        self.milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.milliseconds)
    }

    /// This moment.
    package static var now: Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    /// Whole seconds since the Unix epoch, rounded down: what `apns-expiration` and JWTs carry.
    package var seconds: Int64 { self.milliseconds >= 0 ? self.milliseconds / 1000 : (self.milliseconds - 999) / 1000 }

    /// RFC 3339 in UTC with milliseconds, such as `2026-11-21T08:30:00.000Z`.
    package var iso8601: String {
        Date(timeIntervalSince1970: Double(self.milliseconds) / 1000)
            .formatted(
                .iso8601.year().month().day().timeZone(separator: .omitted).time(includingFractionalSeconds: true)
            )
    }

    package func advanced(by duration: Duration) -> Timestamp {
        Timestamp(milliseconds: self.milliseconds + duration.milliseconds)
    }

    /// The time from this moment to `other`; negative when `other` is earlier.
    package func duration(to other: Timestamp) -> Duration {
        .milliseconds(other.milliseconds - self.milliseconds)
    }

    package static func < (lhs: Timestamp, rhs: Timestamp) -> Bool { lhs.milliseconds < rhs.milliseconds }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }

    /// Seconds as a floating-point number, for metrics and logs.
    package var inSeconds: Double {
        let (seconds, attoseconds) = self.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
