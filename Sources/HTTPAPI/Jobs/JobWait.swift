import Intake
import PushModel
import Settings
import Store
import WebServing

/// What a request waits for before it is answered with its job, and for how long.
///
/// A classic route waits for the hub's answer, as its contract says; a route of our own waits for the outcome.
struct JobWait: Sendable {
    let event: AwaitedEvent
    /// The longest wait; zero = none.
    let time: Duration
    private let preference: Preference
    private let most: Duration

    /// The wait of a request.
    ///
    /// - Parameters:
    ///   - request: The request, with the caller's preference.
    ///   - work: The job's work.
    ///   - startsAt: When the job is to start; nil = at once.
    ///   - configuration: The longest waits.
    init(
        _ request: APIRequest,
        for work: Job.Work,
        startsAt: Timestamp? = nil,
        _ configuration: APIConfiguration
    ) {
        self.event = request.isClassic ? .answer : .outcome
        self.preference = request.preference
        // Nothing comes before the start, and a large body takes one of few places: it is not kept while it waits.
        self.most = startsAt != nil || request.isLarge ? .zero : configuration.maximumWait
        let usual = request.isClassic || work.answersWithResult ? configuration.settings.classicWait : .zero
        self.time = self.preference.limit(most: self.most) ?? usual
    }

    /// Whether the caller said how long it waits.
    var isStated: Bool { self.preference.wait != nil }

    /// Whether the caller understands 202.
    var allowsAccepted: Bool { self.preference.isStated }

    /// The value of `Preference-Applied`; nil = nothing was applied.
    func applied(isAnswered: Bool) -> String? { self.preference.applied(answered: isAnswered, most: self.most) }
}

extension Job.Work {
    /// Whether its route answers with its result to a caller that states no preference: the change of a registration or a channel.
    fileprivate var answersWithResult: Bool {
        switch self {
        case .register(.removeUser), .send: false
        case .register: true
        }
    }
}
