import ArgumentParser
import PushModel

/// The words that options and arguments take, for shells to complete.
enum KnownValues {
    /// Push services that devices can be registered for.
    static let platforms = CompletionKind.list(PushService.allCases.map(\.rawValue))
    /// Push services that take notifications.
    static let sendingPlatforms = CompletionKind.list(PushService.allCases.filter(\.isInService).map(\.rawValue))
    /// Priorities that a sender may ask for.
    static let priorities = CompletionKind.list([Priority.high, .normal].map(\.rawValue))
    static let jobStates = CompletionKind.list(Job.State.allCases.map(\.rawValue))
    static let jobKinds = CompletionKind.list(JobKind.allCases.map(\.rawValue))
    static let registrationStates = CompletionKind.list(Registration.State.allCases.map(\.rawValue))
    static let queues = CompletionKind.list(WorkQueue.allCases.map(\.description))
    static let accountRoles = CompletionKind.list(Role.allCases.map(\.rawValue))
    static let keyRoles = CompletionKind.list(Role.allCases.filter { $0 != .user }.map(\.rawValue))
    static let yamlFiles = CompletionKind.file(extensions: ["yaml", "yml"])
}
