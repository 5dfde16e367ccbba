/// What an operator must know of where a store is.
package struct StoreObservation: Sendable, Equatable {
    /// What it is about, in a few words.
    package let subject: String
    /// How it is.
    package let verdict: Verdict
    /// What was seen; else with what it costs, and what to do.
    package let words: String

    /// How something is; the raw value is what people are shown.
    package enum Verdict: String, Sendable {
        /// Nobody need do anything.
        case right = "ok"
        /// Right for most; the words say what it does not promise.
        case note
        /// Somebody must do something.
        case wrong
    }

    /// Whether nobody need do anything.
    package var isRight: Bool { self.verdict != .wrong }

    package static func right(_ subject: String, _ words: String) -> StoreObservation {
        StoreObservation(subject: subject, verdict: .right, words: words)
    }

    package static func note(_ subject: String, _ words: String) -> StoreObservation {
        StoreObservation(subject: subject, verdict: .note, words: words)
    }

    package static func wrong(_ subject: String, _ words: String) -> StoreObservation {
        StoreObservation(subject: subject, verdict: .wrong, words: words)
    }
}
