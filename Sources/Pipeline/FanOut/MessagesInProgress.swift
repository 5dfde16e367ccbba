import NIOConcurrencyHelpers
import PushModel

/// The send messages that this process is at.
final class MessagesInProgress: Sendable {
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

    /// Whether the process is at that message.
    func has(_ message: MessageID) -> Bool { self.messages.withLockedValue { $0[message] != nil } }

    /// - Returns: Whether a copy has joined.
    @discardableResult
    func end(_ message: MessageID) -> Bool {
        self.messages.withLockedValue { $0.removeValue(forKey: message) ?? false }
    }
}

/// Bounds the sends with many names that this process is at: each keeps its names until it is fanned out.
///
/// An app acquires one while it holds less than is free: alone it may have half of the permits.
final class LargeClaims: Sendable {
    /// A send that names more is large: 20,000 names take some 2 MB.
    static let names = 1000
    /// The most at a time.
    static let limit = 64

    private let state = NIOLockedValueBox(State())

    private struct State {
        var left = LargeClaims.limit
        var held: [AppID: Int] = [:]
    }

    /// - Returns: false when the app has enough.
    func acquire(_ app: AppID) -> Bool {
        self.state.withLockedValue { state in
            guard state.held[app, default: 0] < state.left else { return false }
            state.left -= 1
            state.held[app, default: 0] += 1
            return true
        }
    }

    func release(_ app: AppID) {
        self.state.withLockedValue { state in
            guard let held = state.held[app] else { return }
            state.left += 1
            state.held[app] = held > 1 ? held - 1 : nil
        }
    }
}
