import NIOConcurrencyHelpers

/// What a store has found of one audience and may use again: who reads the audience piece by piece keeps it as long as that takes.
package final class AudienceMemory: Sendable {
    private let content = NIOLockedValueBox<(any Sendable)?>(nil)

    package init() {}

    /// What was kept, where it is of that kind.
    package func recall<Content: Sendable>(_ kind: Content.Type) -> Content? {
        self.content.withLockedValue { $0 as? Content }
    }

    /// Keeps that instead of what was kept before.
    package func keep(_ content: some Sendable) { self.content.withLockedValue { $0 = content } }
}
