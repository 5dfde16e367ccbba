package import PushModel

/// A change of registrations, made of all that the store has and it may concern (rule 11).
///
/// A registration's version is the sequence of its last change, and a change applies only to lower versions. A handle belongs to the
/// latest change that claims it, in any order of arrival; ``released`` keeps that sequence for handles that leave their registration.
package struct RegistrationChange: Sendable {
    /// What was read.
    package struct Known: Sendable {
        /// Those that it names, or that have its handles or tag, and the user's oldest.
        package var registrations: [RegistrationID: KeptRegistration] = [:]
        /// The last deletion after the change, by its user or the app, of ids without a registration, or of another user's.
        package var deletions: [RegistrationID: Int64] = [:]
        /// Its handles that a later change claimed, and lost since.
        package var claimed: Set<ReleasedHandle> = []
        /// The numbers of its tags.
        package var tags: [Tag: Int64] = [:]
        /// The names of the tags that its installation has.
        package var names: [Int64: Tag] = [:]
        /// How many live registrations of a kind the user has, where they may be too many.
        package var living: [RegistrationKind: Int] = [:]

        package init() {}
    }

    package let terms: RegistrationTerms
    package let known: Known
    private let wall: Timestamp
    /// As they are to be.
    private(set) var registrations: [RegistrationID: KeptRegistration]
    /// Handles that live registrations lose, with the changes that had claimed them: a claim between that and this change is valid.
    package private(set) var released: [(handle: ReleasedHandle, version: Int64)] = []
    /// Tags that have no number: until they do, nothing can be written.
    package private(set) var newTags: Set<Tag> = []
    /// Registrations that lose their user where that was removed after their last change: this change hides them from the removal, which
    /// passes over later ones.
    package private(set) var hidden: [KeptRegistration] = []
    /// An id without a registration that must stay so.
    package internal(set) var deleted: RegistrationID?

    package init(_ terms: RegistrationTerms, _ known: Known, at wall: Timestamp) {
        (self.terms, self.known, self.wall) = (terms, known, wall)
        self.registrations = known.registrations
    }

    /// What it changes: registrations as they were, and as they are to be.
    package var changes: [(before: KeptRegistration?, after: KeptRegistration)] {
        self.registrations.values.filter { self.touched.contains($0.id) }
            .sorted { ($0.row ?? .max) < ($1.row ?? .max) }
            .map { (self.known.registrations[$0.id], $0) }
    }

    private var touched: Set<RegistrationID> = []

    private mutating func set(_ registration: KeptRegistration) {
        self.registrations[registration.id] = registration
        self.touched.insert(registration.id)
    }

    // MARK: Upserts

    package mutating func upsert(_ id: RegistrationID, _ upsert: RegisterRequest.Upsert) throws -> RegisterResult {
        let former = self.registrations[id]
        let slot = RegistrationSlot(upsert)
        // Of the same device; its keys may be others, and the latest are the ones to send with.
        let hasSameHandle = former?.isOf(upsert.handle, slot) == true
        if let former {
            if former.version > self.terms.sequence {
                if former.user == nil || self.isOwner(of: former) { self.passOver(upsert.handle, slot, of: id) }
                return former.state == .deleted ? .gone : .superseded
            }
            // The app's backend decides about its ids: nobody who registers and deletes one takes it from the backend.
            if former.state == .deleted, self.terms.authority != .app { return .gone }
            // Done before: a message that comes again revives nothing that has ended since, and undoes no patch. An import may name
            // one twice.
            let isRepeated = self.terms.authority != .bulk || former.state == .pruned || former.state == .expired
            if former.version == self.terms.sequence, former.state != .deleted, isRepeated { return .done }
            if !hasSameHandle, former.state != .deleted, !self.isOwner(of: former) { return .notFound }
        }
        if let deletion = self.known.deletions[id] {
            // Its user deleted it before this change was done that made it, or took it over from another.
            if let former { self.delete(former, version: deletion) }
            self.passOver(upsert.handle, slot, of: id)
            return .superseded
        }
        if let refusal = self.refusal(of: upsert, slot, replacing: former) { return refusal }
        if let former {
            if !hasSameHandle { self.release(former) }
            // Templates of a former user go with the device.
            if hasSameHandle, let user = former.user, user != self.terms.user { self.endTemplates(of: former, user) }
        }
        let hasHandle = hasSameHandle && former?.isLive == true
        let holder = hasHandle ? nil : self.holder(of: upsert.handle, slot)
        var new = KeptRegistration(
            row: former?.row,
            id: id,
            state: .live,
            version: self.terms.sequence,
            updated: self.wall
        )
        (new.slot, new.handle, new.user) = (slot, upsert.handle, self.terms.user)
        (new.credential, new.expires) = (upsert.credential ?? .default, self.terms.expires)
        new.written = try upsert.written.map(StoredJSON.text)
        // A later change has the handle, or had it, as if this one had come first.
        var reason: String?
        if self.known.claimed.contains(ReleasedHandle(upsert.handle, slot)) {
            reason = "its handle went to a later registration, which has ended"
        }
        if let holder, holder.version > self.terms.sequence { reason = Self.replaced(by: holder.id) }
        if let reason {
            (new.state, new.ended) = (.replaced, Registration.Ended(at: self.wall, reason: reason))
        } else {
            if let holder { self.replace(holder, by: id) }
            new.tags = self.numbers(of: upsert.tags)
            new.content = try upsert.template.map { try StoredJSON.text($0.content) }
        }
        self.set(new)
        if new.isLive, former?.isLive != true || former?.user != new.user { self.endOldest(slot.kind) }
        return .done
    }

    /// Takes a handle from those that had it before a change that comes too late for its own registration.
    private mutating func passOver(_ handle: Handle, _ slot: RegistrationSlot, of id: RegistrationID) {
        if let holder = self.holder(of: handle, slot), holder.id != id, holder.version < self.terms.sequence {
            self.replace(holder, by: id)
        }
        self.released.append((ReleasedHandle(handle, slot), self.terms.sequence))
    }

    /// Refuses one template more than a device may have; one that takes the place of another of the device needs no room.
    private func refusal(
        of upsert: RegisterRequest.Upsert,
        _ slot: RegistrationSlot,
        replacing former: KeptRegistration?
    ) -> RegisterResult? {
        let isOfDevice =
            former?.isLive == true && former?.slot?.kind == .template
            && former?.slot.map { $0.pns == upsert.pns && former?.isOf(upsert.handle, $0) == true } == true
        guard upsert.template != nil, !isOfDevice, self.holder(of: upsert.handle, slot) == nil,
            self.templates(of: upsert.handle, upsert.pns).count >= DeviceTemplate.maximumCount
        else { return nil }
        return .refused("a device has at most \(DeviceTemplate.maximumCount) templates")
    }

    // MARK: Parts of changes

    /// Whether it is the user's, or anybody's may be changed.
    func isOwner(of one: KeptRegistration) -> Bool { one.user == self.terms.user || self.terms.authority != .owner }

    /// Why a registration ends whose handle went to another.
    static func replaced(by id: RegistrationID) -> String { "its handle went to registration \(id)" }

    /// The live registration that has a handle of the same device.
    func holder(of handle: Handle, _ slot: RegistrationSlot) -> KeptRegistration? {
        self.registrations.values.first { $0.isLive && $0.isOf(handle, slot) }
    }

    /// The live registrations of a handle's device for templates.
    private func templates(of handle: Handle, _ pns: PushService) -> [KeptRegistration] {
        self.registrations.values.filter { one in
            one.isLive && one.slot?.kind == .template && one.slot?.pns == pns
                && one.slot.map { one.isOf(handle, $0) } == true
        }
    }

    private mutating func release(_ one: KeptRegistration) {
        if let released = one.released { self.released.append(released) }
    }

    private mutating func end(_ one: KeptRegistration, _ reason: String) {
        self.release(one)
        var ended = one
        ended.end(as: .replaced, Registration.Ended(at: self.wall, reason: reason))
        self.set(ended)
    }

    /// Takes a registration's handle from it; `isChange`: it is a change to it too, and earlier ones that arrive later must not apply.
    mutating func replace(_ one: KeptRegistration, by id: RegistrationID, isChange: Bool = false) {
        // The device begins anew: what its templates were for goes with what it was.
        self.endTemplates(of: one)
        self.end(one, Self.replaced(by: id))
        guard isChange, var changed = self.registrations[one.id] else { return }
        changed.version = self.terms.sequence
        self.set(changed)
        self.hidden.append(one)
    }

    /// Ends the templates on the handle of a registration for native notifications; those of that user, or all.
    private mutating func endTemplates(of one: KeptRegistration, _ user: UserName? = nil) {
        guard let slot = one.slot, slot.kind == .native, let handle = one.handle else { return }
        for template in self.templates(of: handle, slot.pns)
        where template.version < self.terms.sequence && (user == nil || template.user == user) {
            self.end(template, "its device was registered anew")
        }
    }

    mutating func delete(_ one: KeptRegistration, version: Int64) {
        self.release(one)
        let reason = self.terms.user == nil ? "deleted by the app" : "deleted by its user"
        var deleted = one
        deleted.end(as: .deleted, Registration.Ended(at: self.wall, reason: reason))
        (deleted.version, deleted.updated) = (version, self.wall)
        (deleted.handle, deleted.written, deleted.expires) = (nil, nil, nil)
        self.set(deleted)
        self.hidden.append(one)
    }

    /// Changes the tags and the credential of a live registration, and nothing else: neither its version nor when it was updated.
    mutating func give(_ one: KeptRegistration, _ tags: [Tag], keeping kept: [Int64], _ credential: CredentialName) {
        var patched = one
        patched.tags = TagList(Set(kept).union(self.numbers(of: tags).numbers).sorted())
        patched.credential = credential
        self.set(patched)
    }

    /// The numbers of tags, each once; a user's own has none.
    private mutating func numbers(of tags: [Tag]) -> TagList {
        let tags = Set(tags.filter { $0.owner == nil })
        self.newTags.formUnion(tags.filter { self.known.tags[$0] == nil })
        return TagList(tags.compactMap { self.known.tags[$0] }.sorted())
    }

    /// Ends the registration of the user that was changed longest ago, where there is now one more than may be.
    private mutating func endOldest(_ kind: RegistrationKind) {
        guard let user = self.terms.user, let devices = self.terms.most else { return }
        let bound = RegistrationBound(devices: devices, kind)
        func living(_ all: [RegistrationID: KeptRegistration]) -> [KeptRegistration] {
            all.values.filter { $0.isLive && $0.user == user && $0.slot?.kind == kind }
        }
        let now = living(self.registrations)
        let count = (self.known.living[kind] ?? 0) + now.count - living(self.known.registrations).count
        let oldest = now.min { ($0.version, $0.row ?? .max) < ($1.version, $1.row ?? .max) }
        if count > bound.most, let oldest { self.end(oldest, bound.reason) }
    }
}
