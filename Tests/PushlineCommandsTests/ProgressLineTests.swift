import Testing

@testable import PushlineCommands

@Suite struct ProgressLineTests {
    @Test(arguments: [(0, "0"), (7, "7"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000")])
    func thousandsAreGrouped(number: Int, text: String) {
        #expect(ProgressLine.grouped(number) == text)
    }

    @Test func aTerminalHasALiveBar() {
        var now = ContinuousClock.now
        var shown: [String] = []
        var line = ProgressLine(isLive: true, clock: { now }, write: { shown.append($0) })
        now = now.advanced(by: .seconds(2))
        line.show(50_000, share: 0.5)
        line.show(60_000, share: 0.6)
        now = now.advanced(by: .seconds(1))
        line.show(99_000, share: 1.7)
        line.end()
        #expect(
            shown == [
                "\r[###############...............] 50 %, 50,000 lines, 25,000 a second\u{1B}[K",
                "\r[##############################] 100 %, 99,000 lines, 33,000 a second\u{1B}[K", "\r\u{1B}[K",
            ]
        )
    }

    @Test func aTerminalHasAMovingBarWhereAllIsNotKnown() {
        var now = ContinuousClock.now
        var shown: [String] = []
        var line = ProgressLine(isLive: true, of: "registration", clock: { now }, write: { shown.append($0) })
        for seconds in [2, 1] {
            now = now.advanced(by: .seconds(seconds))
            line.show(3000, share: nil)
        }
        #expect(
            shown == [
                "\r[....................######....] 3,000 registrations, 1,500 a second\u{1B}[K",
                "\r[..................######......] 3,000 registrations, 1,000 a second\u{1B}[K",
            ]
        )
    }

    @Test func aMovingBarGoesToAndFro() {
        for (tenths, bar) in [
            (0, "[######........................]"), (1, "[.######.......................]"),
            (24, "[........................######]"), (25, "[.......................######.]"),
            (47, "[.######.......................]"), (48, "[######........................]"),
        ] {
            #expect(ProgressLine.movingBar(after: .milliseconds(100 * tenths)) == bar)
        }
    }

    @Test func aLogGetsALineEveryFewSeconds() {
        var now = ContinuousClock.now
        var shown: [String] = []
        var line = ProgressLine(isLive: false, clock: { now }, write: { shown.append($0) })
        for second in 1...12 {
            now = now.advanced(by: .seconds(1))
            line.show(second * 1000, share: nil)
        }
        line.end()
        #expect(
            shown == [
                "1,000 lines, 1,000 a second\n", "6,000 lines, 1,000 a second\n", "11,000 lines, 1,000 a second\n",
                "12,000 lines, 1,000 a second\n",
            ]
        )
    }

    @Test func aLogEndsWithTheTotal() {
        var now = ContinuousClock.now
        var shown: [String] = []
        var line = ProgressLine(isLive: false, clock: { now }, write: { shown.append($0) })
        for share in [0.5, 0.9, 1] {
            now = now.advanced(by: .seconds(1))
            line.show(Int(share * 1000), share: share)
        }
        line.end()
        // Once is enough.
        line.end()
        #expect(shown.count == 2)
        #expect(shown.last == "[##############################] 100 %, 1,000 lines, 333 a second\n")
        var short = ProgressLine(isLive: false, clock: { now }, write: { shown.append($0) })
        short.show(1, share: 1)
        short.end()
        #expect(shown.count == 3)
    }
}
