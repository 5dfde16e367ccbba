import HTTPTypes
import HubWire
import Intake
import PushModel
import Store
import WebServing

/// A registration as a client wants it to be.
struct WantedRegistration {
    let pns: PushService
    let handle: Handle
    /// How the client wrote the device.
    let written: WrittenDevice?
    /// Its tags; that of a user names the user.
    let tags: [Tag]
    /// The user, where the client names one by another way.
    var user: UserName?
    /// Its template; nil = it is for native notifications.
    var template: DeviceTemplate?
    /// When it is to end; nil = the client does not say.
    var expires: Timestamp?
}

/// Changes of registrations: as jobs, whose results are waited for, so that a client reads what it wrote.
struct RegistrationChanges: Sendable {
    let intake: JobIntake
    /// How long a change is waited for.
    let wait: Duration
    let store: any ResultStore

    /// Makes a change.
    ///
    /// - Returns: The hub's result; a refusal of the hub is an error.
    /// - Throws: ``Problem``: 400 and 410 for refusals, 503 without an answer in time, and where nobody knows it.
    func make(_ change: RegisterRequest, _ request: HubRequest) async throws -> RegisterResult {
        let job = try self.intake.job(of: change, user: nil, from: request.caller, spec: request.spec)
        switch try await self.intake.take(job, until: .outcome, within: self.wait).result {
        case nil:
            throw Problem.later(.serviceUnavailable, JobIntake.late, seconds: 5)
        case .refused(let reason): throw Problem(.badRequest, reason)
        case .unknown(let reason):
            throw Problem.unknownChange(reason, isRepeatable: true)
        case .some(let result): return result
        }
    }

    /// Creates or replaces a registration.
    ///
    /// - Throws: ``Problem`` 410 for an id that was deleted.
    func put(_ id: RegistrationID, _ upsert: RegisterRequest.Upsert, _ request: HubRequest) async throws {
        switch try await self.make(.upsert(id, upsert), request) {
        case .done, .superseded, .issued: return
        case .gone: throw Problem(.gone, JobIntake.deleted)
        case .notFound, .channels, .refused, .unknown: throw Problem(.notFound, "no such registration")
        }
    }

    /// Replaces the registration that has the handle, or makes one.
    ///
    /// - Returns: Its id.
    func create(_ upsert: RegisterRequest.Upsert, _ request: HubRequest) async throws -> RegistrationID {
        let candidate = Self.newID()
        switch try await self.make(.create(candidate: candidate, upsert), request) {
        case .issued(let id): return id
        default: return candidate
        }
    }

    /// A live registration of the app.
    ///
    /// - Throws: ``Problem`` 404.
    func live(_ id: String, _ request: HubRequest) async throws -> Registration {
        guard let id = RegistrationID(id), let found = try await self.store.registration(id, app: request.app),
            found.state == .live
        else { throw Problem(.notFound, "") }
        return found
    }

    /// What a registration is to be.
    ///
    /// - Throws: `InvalidValue` that names the element.
    static func upsert(
        _ wanted: WantedRegistration,
        _ request: HubRequest
    ) throws(InvalidValue) -> RegisterRequest.Upsert {
        let (owner, others) = try TagPolicy(request.spec).divide(wanted.tags, user: wanted.user) { _ in "Tags" }
        return RegisterRequest.Upsert(
            pns: wanted.pns,
            handle: wanted.handle,
            tags: others,
            onBehalf: .init(of: owner),
            template: wanted.template,
            expires: wanted.expires,
            written: wanted.written
        )
    }

    /// The end that a client gives a registration.
    ///
    /// - Parameters:
    ///   - text: The time as the client wrote it.
    ///   - member: The member's name.
    ///   - stored: The registration that there is.
    ///   - isPatch: Whether the time is what is stored where the client says nothing of it.
    ///   - spec: The app's declaration.
    /// - Returns: nil = the client does not end it: no time is given, or the year 9999, by which the wire says so, or the
    ///   end of the app's lifetime, which the client has read.
    /// - Throws: `InvalidValue` for a text that is not a time, or a time in the past.
    static func end(
        _ text: String?,
        _ member: String,
        of stored: Registration?,
        isPatch: Bool = false,
        _ spec: AppSpec
    ) throws(InvalidValue) -> Timestamp? {
        guard let text, !text.isEmpty else { return nil }
        guard let time = WireTime.loose(text) else {
            throw InvalidValue(member: member, "must be a time, as in 2027-01-31T08:00:00Z")
        }
        guard !WireTime.isNever(time) else { return nil }
        // Some clients write no seconds.
        if let stored, let end = stored.expires, Self.isNear(time, end, .seconds(60)) {
            if Self.endsByLifetime(stored, spec) { return nil }
            if isPatch { return end }
        }
        guard time > .now else {
            throw InvalidValue(member: member, "is in the past; leave it out, or give a later time")
        }
        return time
    }

    /// Whether the end of a registration is not a wish of its client: it comes the app's lifetime after the last change.
    ///
    /// The clocks of both times differ a little, and so a wish for nearly the same time is taken for a lifetime.
    private static func endsByLifetime(_ registration: Registration, _ spec: AppSpec) -> Bool {
        guard let lifetime = spec.registrationLifetime, let end = registration.expires else { return false }
        return Self.isNear(end, registration.updated.advanced(by: lifetime), .seconds(600))
    }

    private static func isNear(_ one: Timestamp, _ other: Timestamp, _ distance: Duration) -> Bool {
        (min(one, other).duration(to: max(one, other))) < distance
    }

    /// A new id in the form of a hub's: two numbers of up to 19 digits and a small one.
    ///
    /// The first begins with the time, so that ids made together stand together in an index.
    static func newID() -> RegistrationID {
        let time = UInt64(clamping: Timestamp.now.milliseconds) * 100_000 + .random(in: 0..<100_000)
        let text = "\(time)-\(UInt64.random(in: 1...UInt64(Int64.max)))-1"
        guard let id = RegistrationID(text) else { preconditionFailure("digits and hyphens are an id") }
        return id
    }
}
