package import PushModel

/// What a hub is, the embedded one and one over a wire: it registers devices, takes sends, and says what became of them.
///
/// How a send comes to its devices is the hub's own affair. No call is repeated here: whoever calls knows what may be (rule 18).
package protocol NotificationHub: Sendable {
    /// Applies a change to the registrations.
    ///
    /// A repeat has the same result.
    ///
    /// - Parameters:
    ///   - request: The change.
    ///   - job: The register job: its app, user and sequence.
    ///   - spec: The app's declaration.
    /// - Returns: The hub's result; a refusal is a result, not an error. nil = a part is done, and another call goes on.
    /// - Throws: ``HubError``; after any kind but ``HubError/Kind/refused`` the job is retried later.
    func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult?

    /// Takes a send.
    ///
    /// - Returns: The id under which the hub says more; nil = it gives none.
    /// - Throws: ``HubError``; the embedded hub also its store's error.
    func take(_ send: HubSend) async throws -> String?

    /// Says what became of a send that it took.
    ///
    /// - Parameters:
    ///   - id: The send's id.
    ///   - app: Whose it is.
    /// - Returns: What is known by now.
    /// - Throws: ``HubError``; the embedded hub also its store's error.
    func outcome(of id: String, app: AppID) async throws -> HubOutcome
}

/// A send as a hub takes it: formatted, with its audience.
package struct HubSend: Sendable, Equatable {
    /// What goes out.
    package enum Form: Sendable, Equatable {
        /// One service's own form.
        case native(NativePayload)
        /// What the templates of registrations are filled with.
        case template(Content.Properties)
    }

    /// For whom it is.
    package enum Audience: Sendable, Equatable {
        /// All registrations.
        case everyone
        /// Those that an expression selects.
        case expression(TagExpression)
        /// Devices by their handles, or as registrations.
        case list(RecipientList)
    }

    /// The most handles of a list: no hub over a wire takes more at once.
    package static let mostHandles = 1000
    /// The most bytes that they have together, as JSON.
    package static let mostListBytes = 256 << 10

    package let app: AppID
    package let form: Form
    package let audience: Audience
    /// The same for each repetition of the send, and for no other; nil = it is not repeated.
    package var trackingID: String?
    /// When it is to go out; nil or past = at once.
    package var startsAt: Timestamp?
    /// The name of the key that sends, for those who list what the hub took.
    package var caller: String?

    package init(app: AppID, _ form: Form, to audience: Audience, trackingID: String? = nil) {
        self.app = app
        self.form = form
        self.audience = audience
        self.trackingID = trackingID
    }
}

/// What a hub says of a send.
package enum HubOutcome: Sendable, Equatable {
    /// Nothing yet.
    case notYet
    /// It never says anything.
    case notOffered
    case known(HubReport)
}

/// What became of a send.
package struct HubReport: Sendable, Equatable {
    package let state: HubSendState
    /// The devices, by the hub's word for what became of them.
    package let devices: [String: Int]
    /// The send as the embedded hub keeps it, with its times; nil = the hub is another.
    package let job: Job?

    package init(state: HubSendState, devices: [String: Int], job: Job? = nil) {
        self.state = state
        self.devices = devices
        self.job = job
    }
}
