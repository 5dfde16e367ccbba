import ArgumentParser
import PushModel

/// The words that options and arguments take, for shells to complete.
enum KnownValues {
    /// Push services that devices can be registered for.
    static let services = CompletionKind.list(PushService.allCases.map(\.rawValue))
    /// Push services that take notifications.
    static let sendingServices = CompletionKind.list(PushService.allCases.filter(\.isInService).map(\.rawValue))
    /// Priorities that a sender may ask for.
    static let priorities = CompletionKind.list([Priority.high, .normal].map(\.rawValue))
    static let jobStateNames = Job.State.allCases.map(\.rawValue)
    static let jobStates = CompletionKind.list(Self.jobStateNames)
    static let registrationStateNames = Registration.State.allCases.map(\.rawValue)
    static let registrationStates = CompletionKind.list(Self.registrationStateNames)
    static let channelStorageNames = BroadcastChannel.Storage.allCases.map(\.rawValue)
    static let channelStorage = CompletionKind.list(Self.channelStorageNames)
    static let queues = CompletionKind.list(WorkQueue.allCases.map(\.description))
    static let accountRoles = CompletionKind.list(Role.allCases.map(\.rawValue))
    static let keyRoles = CompletionKind.list(Role.allCases.filter { $0 != .user }.map(\.rawValue))
    static let yamlFiles = CompletionKind.file(extensions: ["yaml", "yml"])

    /// - Throws: `ValidationError` where the word of an option is none of those that it takes.
    static func check(_ word: String?, _ option: String, _ words: [String]) throws {
        guard let word, !words.contains(word) else { return }
        throw ValidationError("\(option) is one of \(words.joined(separator: ", ")), not \"\(word)\".")
    }

    /// - Throws: `ValidationError` where a push service has another name.
    static func check(service: String?) throws {
        guard let service, PushService(rawValue: service) == nil else { return }
        throw ValidationError("--service is \(PushService.list()), not \"\(service)\".")
    }
}
