import Testing

@testable import PushModel

/// Arithmetic on what comes from outside of a process.
@Suite struct ClampingTests {
    @Test func whatFitsIsExact() {
        #expect(Int64(7).clampedAdding(-9) == -2)
        #expect(UInt8(200).clampedAdding(55) == 255)
        #expect(Int64(7).clampedSubtracting(-9) == 16)
        #expect(Int64(-7).clampedMultiplied(by: 9) == -63)
        #expect(Int64(clamping: 12.9) == 12)
        #expect(Int64(clamping: -12.1) == -13)
    }

    @Test func whatDoesNotFitIsTheBound() {
        #expect(Int64.max.clampedAdding(1) == .max)
        #expect(Int64.min.clampedAdding(-1) == .min)
        #expect(UInt8(200).clampedAdding(56) == 255)
        #expect(Int64.min.clampedSubtracting(1) == .min)
        #expect(Int64(0).clampedSubtracting(.min) == .max)
        #expect(UInt8(1).clampedSubtracting(2) == 0)
        #expect(Int64.max.clampedMultiplied(by: 2) == .max)
        #expect(Int64.max.clampedMultiplied(by: -2) == .min)
        #expect(Int64.min.clampedMultiplied(by: -1) == .max)
        for number in [Double.infinity, 1e300, 9.3e18] { #expect(Int64(clamping: number) == .max) }
        for number in [-Double.infinity, -1e300] { #expect(Int64(clamping: number) == .min) }
        #expect(Int64(clamping: .nan) == 0)
        #expect(UInt8(clamping: -1.0) == 0)
    }

    /// Any two moments, and any wait.
    @Test func timesEndNobody() {
        let moments = [Int64.min, -1, 0, 1, .max].map { Timestamp(milliseconds: $0) }
        let waits = [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .milliseconds(Int64.max)]
        for moment in moments {
            for wait in waits { _ = moment.advanced(by: wait).iso8601 }
            for other in moments { _ = moment.duration(to: other) }
        }
        #expect(Timestamp(milliseconds: .max).advanced(by: .seconds(1)).milliseconds == .max)
        #expect(Timestamp(milliseconds: .min).duration(to: Timestamp(milliseconds: .max)).milliseconds == .max)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
    }
}
