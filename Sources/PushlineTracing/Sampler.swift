import PushModel
import Settings

/// Decides which traces are recorded; by ratio it decides alike in every process.
struct Sampler: Sendable {
    private let kind: TraceSettings.Sampler
    /// Traces whose lower half, without its last bit, is below this.
    private let bound: UInt64

    init(_ settings: TraceSettings) {
        self.kind = settings.sampler
        self.bound = settings.samplerArg >= 1 ? .max : UInt64(settings.samplerArg * 0x1p63)
    }

    /// Whether a span is recorded.
    ///
    /// - Parameters:
    ///   - trace: Its trace.
    ///   - parent: The span that it is under, of this process or another.
    /// - Returns: Whether it is.
    func takes(_ trace: TraceID, under parent: SpanContext?) -> Bool {
        switch self.kind {
        case .alwaysOn: true
        case .alwaysOff: false
        case .ratio: self.isInShare(trace)
        case .parentOrOn: parent?.isSampled ?? true
        case .parentOrOff: parent?.isSampled ?? false
        case .parentOrRatio: parent?.isSampled ?? self.isInShare(trace)
        }
    }

    private func isInShare(_ trace: TraceID) -> Bool { trace.low >> 1 < self.bound }
}
