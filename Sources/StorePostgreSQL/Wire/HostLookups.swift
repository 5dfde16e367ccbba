import Dispatch
import Foundation
import NIOConcurrencyHelpers
import PushModel

/// Asks the system for the addresses of names: nothing can end such a question, and whoever asks has a deadline.
final class HostLookups: Sendable {
    static let system = HostLookups(ask: SystemNames.addresses)

    /// A question, which a thread of its own waits for, once for all who ask it meanwhile.
    private struct Question: @unchecked Sendable {
        let isOpen = DispatchGroup()
        let addresses = NIOLockedValueBox<[String]>([])
    }

    private let ask: @Sendable (String) -> [String]
    private let running = NIOLockedValueBox<[String: Question]>([:])

    /// - Parameter ask: The addresses of a name, in digits; empty where there is none.
    init(ask: @escaping @Sendable (String) -> [String]) { self.ask = ask }

    /// The addresses of a name; none where the system knows none, or does not say so in time.
    func addresses(of name: String, until deadline: ContinuousClock.Instant) -> [String] {
        let (question, isNew) = self.running.withLockedValue { running in
            if let question = running[name] { return (question, false) }
            let question = Question()
            question.isOpen.enter()
            running[name] = question
            return (question, true)
        }
        if isNew {
            // Threads that others wait on may be all taken.
            Thread.detachNewThread {
                let found = self.ask(name)
                question.addresses.withLockedValue { $0 = found }
                self.running.withLockedValue { $0[name] = nil }
                question.isOpen.leave()
            }
        }
        let left = max(.zero, deadline - .now)
        guard question.isOpen.wait(timeout: .now() + left.inSeconds) == .success else { return [] }
        return question.addresses.withLockedValue { $0 }
    }
}
