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
    /// The last state, where it was not shown: one was shown just before.
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
    ///   - share: The part of all that is done, 0 to 1; nil where all is not known.
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
            let full = Int(part * 30)
            let bar = String(repeating: "#", count: full) + String(repeating: ".", count: 30 - full)
            text = "[\(bar)] \(Int(part * 100)) %, " + text
        }
        self.write(self.isLive ? "\r\(text)\u{1B}[K" : "\(text)\n")
    }

    /// Leaves the live line; where there is none, the last line is the last state.
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
