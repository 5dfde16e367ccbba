import Foundation

/// Progress on standard error: a live line on a terminal, otherwise a line every few seconds.
struct ProgressLine {
    /// Takes the place of standard error in a test.
    private let write: (String) -> Void
    private let isLive: Bool
    /// What is counted.
    private let noun: String
    private let clock: () -> ContinuousClock.Instant
    private let start: ContinuousClock.Instant
    private var shown: ContinuousClock.Instant?
    /// The last state, if it was not shown: one was shown just before.
    private var pending: (count: Int, share: Double?)?

    init(of noun: String = "line") {
        self.init(isLive: isatty(STDERR_FILENO) == 1, of: noun, clock: { .now }) { text in
            Console.write(text, to: .standardError)
        }
    }

    init(
        isLive: Bool,
        of noun: String = "line",
        clock: @escaping () -> ContinuousClock.Instant,
        write: @escaping (String) -> Void
    ) {
        self.write = write
        self.isLive = isLive
        self.noun = noun
        self.clock = clock
        self.start = clock()
    }

    /// Shows a state, unless one was shown just before.
    ///
    /// - Parameters:
    ///   - count: How many are done.
    ///   - share: The part of all that is done, 0 to 1; nil = the total is not known: a terminal then shows a bar that moves to and fro.
    mutating func show(_ count: Int, share: Double?) {
        let now = self.clock()
        let pause: Duration = self.isLive ? .milliseconds(100) : .seconds(5)
        if let shown = self.shown, now - shown < pause {
            self.pending = (count, share)
            return
        }
        self.shown = now
        self.pending = nil
        self.put(count, share: share, at: now)
    }

    private func put(_ count: Int, share: Double?, at now: ContinuousClock.Instant) {
        let seconds = (now - self.start) / .seconds(1)
        let rate = seconds > 0 ? Int(Double(count) / seconds) : 0
        var text = "\(Plural.of(count, self.noun, shown: Self.grouped(count))), \(Self.grouped(rate)) a second"
        if let share {
            let part = min(1, max(0, share))
            let bar = Self.bar(from: 0, to: Int(part * Double(Self.width)))
            text = "\(bar) \(Int(part * 100)) %, " + text
        } else if self.isLive {
            text = "\(Self.movingBar(after: now - self.start)) " + text
        }
        self.write(self.isLive ? "\r\(text)\u{1B}[K" : "\(text)\n")
    }

    /// The characters of a bar.
    private static let width = 30
    /// The characters that move when there is no share.
    private static let block = 6

    private static func bar(from: Int, to: Int) -> String {
        let (before, full) = (String(repeating: ".", count: from), String(repeating: "#", count: to - from))
        return "[\(before)\(full)\(String(repeating: ".", count: Self.width - to))]"
    }

    /// A bar whose block goes to and fro, a step each tenth of a second.
    static func movingBar(after time: Duration) -> String {
        let way = Self.width - Self.block
        let step = Int(time / .milliseconds(100)) % (2 * way)
        let place = step <= way ? step : 2 * way - step
        return Self.bar(from: place, to: place + Self.block)
    }

    /// Leaves the live line; if there is none, the last line is the last state.
    mutating func end() {
        if self.isLive {
            if self.shown != nil { self.write("\r\u{1B}[K") }
        } else if let pending = self.pending {
            self.put(pending.count, share: pending.share, at: self.clock())
        }
        self.pending = nil
    }

    /// A number with its thousands apart: 1,234,567.
    static func grouped(_ number: Int) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index.isMultiple(of: 3), digit != "-" { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}
