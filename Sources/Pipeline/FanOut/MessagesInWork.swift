import NIOConcurrencyHelpers
import PushModel

/// The send messages that this process is at.
final class MessagesInWork: Sendable {
    /// Whether a copy has joined each.
    private let messages = NIOLockedValueBox<[MessageID: Bool]>([:])

    /// - Returns: false when the process is at that message already: then a copy joins it.
    func begin(_ message: MessageID) -> Bool {
        self.messages.withLockedValue { messages in
            let isCopy = messages[message] != nil
            messages[message] = isCopy
            return !isCopy
        }
    }

    /// - Returns: Whether a copy has joined.
    @discardableResult
    func end(_ message: MessageID) -> Bool {
        self.messages.withLockedValue { $0.removeValue(forKey: message) ?? false }
    }
}

/// Bounds the sends with many names that this process is at: each keeps its names until it is fanned out.
final class LargeClaims: Sendable {
    /// A send that names more is large: 20,000 names take some 2 MB.
    static let names = 1000
    /// The most at a time.
    static let limit = 64

    private let count = NIOLockedValueBox(0)

    /// - Returns: false when there are enough.
    func enter() -> Bool {
        self.count.withLockedValue { count in
            guard count < Self.limit else { return false }
            count += 1
            return true
        }
    }

    func leave() { self.count.withLockedValue { $0 -= 1 } }
}
