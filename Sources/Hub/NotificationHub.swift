package import PushModel

/// The part of a hub that changes registrations: the register worker needs no other.
package protocol HubRegistrations: Sendable {
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
}

/// A hub, embedded or over a wire: it registers devices, takes sends, and says what became of them.
///
/// How a send comes to its devices is the hub's own affair. No call is repeated here: the caller knows which may be (rule 18).
package protocol NotificationHub: HubRegistrations {
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

/// A hub that clients of the wire are served from: it can take sends together.
package protocol ServedHub: NotificationHub {
    /// Takes sends of one app together.
    ///
    /// - Returns: For each the id under which the hub says more; nil = it was not taken, because too many are unfinished.
    /// - Throws: The store's error when none was taken.
    func take(_ sends: [HubSend]) async throws -> [String?]
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

    /// What its sender wrote, where the form is another: see ``PushModel/SendRequest/Original``.
    package typealias Original = SendRequest.Original

    package let app: AppID
    package let form: Form
    package let audience: Audience
    /// nil = it was written as its form is.
    package var original: Original?
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

/// The state and outcome of a send, as any hub can report them.
package struct HubReport: Sendable, Equatable {
    package let state: HubSendState
    /// The devices, by the hub's word for what became of them.
    package let devices: [String: Int]
    /// The same by push service, for the devices whose service is known.
    package var counts: [PushService: [String: Int]] = [:]
    /// Of the counts at their services, the devices that were registered for another platform of the wire, by its name.
    package var platformCounts: [String: [String: Int]] = [:]
    /// When the hub took the send, began it and ended it; nil = not yet, or the hub does not say.
    package var accepted: Timestamp?
    package var started: Timestamp?
    package var ended: Timestamp?
    /// The notification as its sender wrote it; empty = the hub does not say.
    package var body = ""
    /// The wire's name of the platform that it was sent to, if that is not the one of its service.
    package var platform: String?
    /// The tag expression that the send is for; nil = it is for all, or for a list.
    package var tags: String?
    /// The services that it goes to, as far as they are known.
    package var services: [PushService] = []
    /// Whether it goes to the templates of registrations.
    package var isForTemplates = false

    package init(state: HubSendState, devices: [String: Int]) {
        self.state = state
        self.devices = devices
    }
}
