import NIOConcurrencyHelpers

/// Results of reading one audience, kept for its next pages by the reader.
package final class AudienceMemory: Sendable {
    private let content = NIOLockedValueBox<(any Sendable)?>(nil)

    package init() {}

    /// The kept value, if it is of that kind.
    package func recall<Content: Sendable>(_ kind: Content.Type) -> Content? {
        self.content.withLockedValue { $0 as? Content }
    }

    /// Replaces the kept value.
    package func keep(_ content: some Sendable) { self.content.withLockedValue { $0 = content } }
}
