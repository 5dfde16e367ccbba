/// What an operator must know of where a store is.
package struct StoreObservation: Sendable, Equatable {
    /// What it is about, in a few words.
    package let subject: String
    /// Whether nobody need do anything.
    package let isRight: Bool
    /// What was seen; else with what it costs, and what to do.
    package let words: String

    package static func right(_ subject: String, _ words: String) -> StoreObservation {
        StoreObservation(subject: subject, isRight: true, words: words)
    }

    package static func wrong(_ subject: String, _ words: String) -> StoreObservation {
        StoreObservation(subject: subject, isRight: false, words: words)
    }
}
