import Hub
import HubWire
import PushModel

// Registrations of an app at its Azure hub: the user's own tag says whose each is.
extension AzureAppHub {
    func register(_ request: RegisterRequest, for job: Job, spec: AppSpec) async throws -> RegisterResult? {
        do throws(AzureHubError) {
            switch request {
            case .issue(_, let handles): return try await self.issue(handles, spec: spec)
            case .upsert(let id, let upsert): return try await self.upsert(id, upsert, by: job, spec: spec)
            case .create(_, let upsert): return try await self.create(upsert, by: job)
            // What has no route has no job either.
            case .patch, .install: return .refused("an Azure hub takes whole registrations one by one; use PUT")
            case .channel: return .refused("an Azure hub has no broadcast channels")
            case .delete(let id): return try await self.delete(id, by: job)
            case .removeUser(let user?, _): return try await self.remove(user)
            // Done: the job has forgotten the name.
            case .removeUser(nil, _): return .done
            }
        } catch {
            if error.kind == .gone { return .gone }
            let fault = HubError(error)
            guard fault.kind == .refused else { throw fault }
            return .refused(fault.message)
        }
    }

    private func issue(_ handles: [Handle], spec: AppSpec) async throws(AzureHubError) -> RegisterResult {
        var found: [WireRegistration] = []
        for handle in handles {
            for pns in spec.services where (try? spec.handle(handle.text, of: pns)) == handle {
                found += try await self.registrations(of: handle, pns)
            }
        }
        return try await self.keepFirst(found)
    }

    /// The first of a device's registrations, or a new id; the others go, or the device would get everything twice.
    private func keepFirst(_ found: [WireRegistration]) async throws(AzureHubError) -> RegisterResult {
        var ids: [RegistrationID] = []
        for id in found.compactMap({ $0.id.flatMap(RegistrationID.init) }) where !ids.contains(id) { ids.append(id) }
        for id in ids.dropFirst() { try await self.hub.deleteRegistration(id.text) }
        if let first = ids.first { return .issued(first) }
        let issued = try await self.hub.createRegistrationID()
        guard let id = RegistrationID(issued) else {
            throw AzureHubError(.refused, "the hub gave an id that cannot be one of a registration")
        }
        return .issued(id)
    }

    private func upsert(
        _ id: RegistrationID,
        _ upsert: RegisterRequest.Upsert,
        by job: Job,
        spec: AppSpec
    ) async throws(AzureHubError) -> RegisterResult {
        let wanted = try Self.wire(upsert, id: id, by: job)
        if upsert.onBehalf == nil, let present = try await self.hub.registration(id.text),
            Self.owner(of: present) != job.user?.key, !Self.isOf(upsert, present, spec)
        {
            return .notFound
        }
        try await self.hub.put(wanted)
        return .done
    }

    private func create(
        _ upsert: RegisterRequest.Upsert,
        by job: Job
    ) async throws(AzureHubError) -> RegisterResult {
        let issued = try await self.keepFirst(try await self.registrations(of: upsert.handle, upsert.pns))
        do throws(AzureHubError) {
            return try await self.put(upsert, as: issued, by: job)
        } catch {
            // The id has retired. The app named none, so any other does as well.
            guard error.kind == .gone else { throw error }
        }
        return try await self.put(upsert, as: try await self.keepFirst([]), by: job)
    }

    private func put(
        _ upsert: RegisterRequest.Upsert,
        as issued: RegisterResult,
        by job: Job
    ) async throws(AzureHubError) -> RegisterResult {
        guard case .issued(let id) = issued else { return issued }
        try await self.hub.put(try Self.wire(upsert, id: id, by: job))
        return issued
    }

    private func delete(_ id: RegistrationID, by job: Job) async throws(AzureHubError) -> RegisterResult {
        // One that is not there may be gone by a try before this.
        guard let present = try await self.hub.registration(id.text) else { return .done }
        guard Self.mayChange(present, job) else { return .notFound }
        try await self.hub.deleteRegistration(id.text)
        return .done
    }

    /// No call of a removal begins later than this, but for the first deletion.
    ///
    /// A list and a deletion may follow, of 20 s each, and nobody holds a message for a minute (rule 4).
    private static let removalTime = Duration.seconds(15)

    /// Deletes a user's registrations, for a while.
    ///
    /// - Returns: nil while there may be more.
    private func remove(_ user: UserName) async throws(AzureHubError) -> RegisterResult? {
        // A user whom the hub cannot know has no registration there.
        guard let tag = Tag(.user, of: user), AzureExpression.allows(tag) else { return .done }
        let end = ContinuousClock.now + Self.removalTime
        var (deleted, unreadable) = (0, 0)
        var continuation: String?
        repeat {
            let page = try await self.hub.registrations(.tag(tag.name), continuation: continuation)
            let ids = page.items.compactMap(\.id)
            for id in ids {
                // One at least, or a slow hub would never be done.
                guard deleted == 0 || ContinuousClock.now < end else { return nil }
                try await self.hub.deleteRegistration(id)
                deleted += 1
            }
            unreadable += page.unreadable + page.items.count - ids.count
            continuation = page.continuation
        } while continuation != nil && ContinuousClock.now < end
        // The next look shows whether any are left; where nothing can be deleted, no repetition helps.
        guard deleted == 0 else { return nil }
        guard unreadable == 0 else { throw Self.unreadable(unreadable) }
        return continuation == nil ? .done : nil
    }

    // MARK: Reading

    /// The native registrations of a device.
    private func registrations(of handle: Handle, _ pns: PushService) async throws(AzureHubError) -> [WireRegistration]
    {
        guard let platform = WirePlatform(pns) else { throw Self.noPlatform(pns) }
        return try await self.hub.registrations(.handle(platform, [handle.text])).items
            .filter { $0.template == nil && $0.platform == platform }
    }

    /// Whether a job may change a registration: a backend any, a user their own.
    private static func mayChange(_ registration: WireRegistration, _ job: Job) -> Bool {
        job.user.map { Self.owner(of: registration) == $0.key } ?? true
    }

    /// Whether a registration is of the device that is to be registered: a hub shows tokens of APNs in capitals.
    private static func isOf(
        _ upsert: RegisterRequest.Upsert,
        _ registration: WireRegistration,
        _ spec: AppSpec
    ) -> Bool {
        guard let text = registration.handle.first else { return false }
        return (try? spec.handle(text, of: upsert.pns)) == upsert.handle
    }

    private static func owner(of registration: WireRegistration) -> ExactText? {
        for name in registration.tags {
            // Azure compares tags without regard to letter case, and so must we.
            if let owner = (try? Tag(name, .folded))?.owner { return owner }
        }
        return nil
    }

    private static func wire(
        _ upsert: RegisterRequest.Upsert,
        id: RegistrationID,
        by job: Job
    ) throws(AzureHubError) -> WireRegistration {
        guard upsert.credential == nil else { throw AzureHubError(.refused, Self.noCredentials) }
        guard let platform = WirePlatform(upsert.pns) else { throw Self.noPlatform(upsert.pns) }
        let user = upsert.onBehalf.map(\.user) ?? job.user
        var tags = upsert.tags
        if let user {
            let own = Tag(user: user)
            tags.removeAll { $0.name.lowercased() == own.name.lowercased() }
            tags.append(own)
        }
        guard tags.allSatisfy(AzureExpression.allows) else { throw AzureHubError(.refused, Self.noSuchTag) }
        let parts: [String]
        do { parts = try platform.parts(of: upsert.handle) } catch { throw AzureHubError(.refused, error.reason) }
        return WireRegistration(platform: platform, id: id.text, handle: parts, tags: tags.map(\.name))
    }

    private static let noSuchTag =
        "an Azure hub takes only tags of letters, digits and _ @ # . : -, also for a user's name; register the device for another name"
    private static let noCredentials = "an app with an Azure hub has no credentials of its own; leave the name out"

    private static func unreadable(_ count: Int) -> AzureHubError {
        AzureHubError(
            .refused,
            "\(count) or more registrations of the user cannot be read here; delete them at the hub, then repeat this"
        )
    }

    private static func noPlatform(_ pns: PushService) -> AzureHubError {
        let offered = PushService.list(AppSpec.AzureHub.offered)
        return AzureHubError(
            .refused,
            "an Azure hub registers no devices of \(pns.descriptor.title) for us; use \(offered)"
        )
    }
}
