import Foundation
import PushModel
import Testing
import Undisturbed

@Suite(.undisturbed) struct TimestampTests {
    @Test(arguments: [
        (Int64(0), "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"), (1_795_250_000_999, "2026-11-21T08:33:20.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ])
    func iso8601(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).iso8601 == text)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", Int64(0)), ("1970-01-01t00:00:00.001z", 1), ("1969-12-31T23:59:59.9999Z", -1),
            ("2026-11-21T08:33:20.999Z", 1_795_250_000_999), ("2026-11-21T09:33:20.9+01:00", 1_795_250_000_900),
            ("2026-11-21T27:33:20Z", nil), ("2026-11-22T03:52:20+19:19", 1_795_250_000_000),
            ("2026-11-20T08:34:20-23:59", 1_795_250_000_000), ("2026-11-21T08:33:20-00:00", 1_795_250_000_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000), ("1900-02-29T00:00:00Z", nil), ("2026-02-29T00:00:00Z", nil),
            ("2026-11-31T00:00:00Z", nil), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2017-01-01T00:59:60.5+01:00", 1_483_228_800_500), ("2016-12-31T12:59:60Z", nil),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999), ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("2026-11-21T08:33:20", nil), ("2026-11-21 08:33:20Z", nil), ("2026-11-21T08:33Z", nil),
            ("2026-11-21T08:33:20.Z", nil), ("2026-11-21T08:33:20+24:00", nil), ("2026-11-21T08:33:20+01:60", nil),
            ("2026-11-21T08:33:20+0100", nil), ("2026-11-21T08:33:20ZZ", nil), ("+026-11-21T08:33:20Z", nil),
            ("2026-11-21", nil), ("", nil), ("２026-11-21T08:33:20Z", nil), ("2026-13-21T08:33:20Z", nil),
            ("2026-00-21T08:33:20Z", nil), ("2026-01-00T08:33:20Z", nil), ("99999999999-01-01T00:00:00Z", nil),
        ] as [(String, Int64?)]
    )
    func rfc3339(text: String, milliseconds: Int64?) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    /// A millisecond must not get lost on its way through floating-point seconds.
    @Test func everyMillisecondOfASecond() {
        for millisecond in Int64(0)..<1000 {
            let text = Timestamp(milliseconds: 1_795_250_000_000 + millisecond).iso8601
            #expect(text == "2026-11-21T08:33:20.\(String(1000 + millisecond).dropFirst())Z")
        }
    }

    @Test func everyWeekOf800Years() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for day in stride(from: Int64(-135_000), to: 146_000, by: 7) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let numbers = Timestamp(milliseconds: day * 86_400_000).iso8601.prefix(10).split(separator: "-").map {
                Int($0)
            }
            #expect(numbers == [parts.year, parts.month, parts.day])
            let noon = Timestamp(milliseconds: day * 86_400_000 + 43_200_000)
            #expect(Timestamp(rfc3339: noon.iso8601) == noon)
        }
    }

    @Test(arguments: [(Int64(0), Int64(0)), (999, 0), (1000, 1), (-1, -1), (-1000, -1), (-1001, -2), (1_999, 1)])
    func seconds(milliseconds: Int64, seconds: Int64) {
        #expect(Timestamp(milliseconds: milliseconds).seconds == seconds)
    }

    @Test func arithmetic() {
        let start = Timestamp(milliseconds: 1000)
        #expect(start.advanced(by: .milliseconds(-1500)).milliseconds == -500)
        #expect(start.duration(to: Timestamp(milliseconds: 400)) == .milliseconds(-600))
        #expect(Duration.milliseconds(1500).inSeconds == 1.5)
        #expect((Duration.milliseconds(1500) + .microseconds(999)).milliseconds == 1500)
        #expect(abs(Timestamp.now.milliseconds - Int64(Date().timeIntervalSince1970 * 1000)) < 10_000)
    }

    @Test func isANumberInJSON() throws {
        #expect(try JSONEncoder().encode([Timestamp(milliseconds: 12)]) == Data("[12]".utf8))
    }
}
