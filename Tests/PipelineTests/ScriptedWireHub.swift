import Hub
import Logging
import NIOConcurrencyHelpers
import PushModel
import Store

@testable import Pipeline

/// A hub over a wire that answers as it is told, and remembers what it was sent.
final class ScriptedWireHub: NotificationHub, WireHubs {
    private struct State {
        var answers: [Result<String?, HubError>] = []
        var outcomes: [HubOutcome] = []
        var sends: [HubSend] = []
        var losses = 0
        var isSilent = false
        var bad: Set<String> = []
        var questions = 0
        var changes = 0
    }

    private let state = NIOLockedValueBox(State())

    var sends: [HubSend] { self.state.withLockedValue(\.sends) }

    /// Answers in turn; behind the last one it takes everything.
    func answer(_ answers: Result<String?, HubError>...) { self.state.withLockedValue { $0.answers += answers } }

    /// Says this of what it took, in turn; behind the last one nothing.
    func tell(_ outcomes: HubOutcome...) { self.state.withLockedValue { $0.outcomes += outcomes } }

    /// Refuses every list that has one of these handles.
    func refuse(_ handles: String...) { self.state.withLockedValue { $0.bad = Set(handles) } }

    /// Is not to be found, so many times.
    func lose(_ times: Int) { self.state.withLockedValue { $0.losses = times } }

    /// Gives no answer to questions and changes from now on.
    func fallSilent() { self.state.withLockedValue { $0.isSilent = true } }

    /// How often it was asked what became of a send.
    var questions: Int { self.state.withLockedValue(\.questions) }

    func hub(_ declaration: AppSpec.AzureHub) throws(HubError) -> any NotificationHub {
        let isLost = self.state.withLockedValue { state in
            defer { state.losses = max(0, state.losses - 1) }
            return state.losses > 0
        }
        if isLost { throw HubError(.unavailable(), "the file cannot be read") }
        return self
    }

    /// How many changes of registrations it was asked for.
    var changes: Int { self.state.withLockedValue(\.changes) }

    func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
        let isSilent = self.state.withLockedValue { state in
            state.changes += 1
            return state.isSilent
        }
        guard isSilent else { return .done }
        try await Task.sleep(for: .milliseconds(100))
        throw HubError(.unknown, "the hub gave no answer")
    }

    func take(_ send: HubSend) async throws -> String? {
        let answer: Result<String?, HubError> = self.state.withLockedValue { state in
            state.sends.append(send)
            let isBad = send.listed?.contains { device in
                if case .device(let handle)? = device.target { state.bad.contains(handle.text) } else { false }
            }
            if isBad == true {
                return .failure(HubError(.refused, "no handle of mine", status: 400))
            }
            return state.answers.isEmpty ? .success("n-\(state.sends.count)") : state.answers.removeFirst()
        }
        return try answer.get()
    }

    func outcome(of id: String, app: AppID) async throws -> HubOutcome {
        let (isSilent, outcome) = self.state.withLockedValue { state in
            state.questions += 1
            let isNext = !state.isSilent && !state.outcomes.isEmpty
            return (state.isSilent, isNext ? state.outcomes.removeFirst() : HubOutcome.notYet)
        }
        if isSilent { throw HubError(.unknown, "the hub gave no answer") }
        return outcome
    }
}

extension HubCallers {
    /// For tests without an app whose hub is over a wire.
    static func none(apps: AppDirectory) -> HubCallers {
        HubCallers(hubs: ScriptedWireHub(), store: NoHubCalls(), apps: apps, logger: Logger(label: "test"))
    }
}

/// A store in which no call of a hub is ever written.
private struct NoHubCalls: HubCallStore {
    private struct NotAsked: Error {}

    func beginHubCalls(
        _ calls: [HubCallKey],
        lasting time: Duration,
        isWithdrawn: Bool
    ) async throws -> [HubCallStart] { throw NotAsked() }
    func recordHubCalls(_ calls: [HubCallKey], _ fact: HubCallFact) async throws { throw NotAsked() }
    func takeHubCalls(limit: Int) async throws -> [AskedHubCall] { [] }
    func hubCalls(of job: JobID, app: AppID, limit: Int) async throws -> [HubCall] { throw NotAsked() }
}
