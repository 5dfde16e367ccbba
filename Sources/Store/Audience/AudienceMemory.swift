import NIOConcurrencyHelpers

/// What is known of one audience, kept for its next pages and services by the reader: one value of each kind.
package final class AudienceMemory: Sendable {
    private let contents = NIOLockedValueBox<[ObjectIdentifier: any Sendable]>([:])

    package init() {}

    /// The kept value of that kind.
    package func recall<Content: Sendable>(_ kind: Content.Type) -> Content? {
        self.contents.withLockedValue { $0[ObjectIdentifier(kind)] as? Content }
    }

    /// Replaces the kept value of its kind.
    package func keep<Content: Sendable>(_ content: Content) {
        self.contents.withLockedValue { $0[ObjectIdentifier(Content.self)] = content }
    }
}
