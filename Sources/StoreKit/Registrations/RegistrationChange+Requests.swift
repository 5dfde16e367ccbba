package import PushModel

extension RegistrationChange {
    /// Makes the change.
    ///
    /// - Returns: Its result; one that is not to be done leaves all as it was.
    package mutating func apply(_ request: RegisterRequest) throws -> RegisterResult {
        switch request {
        case .issue(let candidate, let handles): return self.issue(candidate, handles: handles)
        case .upsert(let id, let upsert): return try self.upsert(id, upsert)
        case .create(let candidate, let upsert): return try self.create(candidate, upsert)
        case .delete(let id): return self.delete(id)
        case .patch(let id, let patch): return self.patch(id, patch)
        case .install(let installation):
            let before = self
            let result = try self.install(installation)
            if result != .done { self = before }
            return result
        case .removeUser, .channel: return .refused("it is not a change of a registration")
        }
    }

    private mutating func issue(_ candidate: RegistrationID, handles: [Handle]) -> RegisterResult {
        // The candidate is unique to this change: if it exists, the change was applied before.
        if self.registrations[candidate] != nil { return .issued(candidate) }
        let holders = self.registrations.values.filter { one in
            one.isLive && one.slot?.kind == .native
                && handles.contains { handle in one.slot.map { one.isOf(handle, $0) } == true }
        }.sorted { ($0.row ?? 0) < ($1.row ?? 0) }
        // An id that may never be used is not stored: the first put creates it.
        guard let kept = holders.first else { return .issued(candidate) }
        for other in holders.dropFirst() where other.version < self.terms.sequence {
            self.replace(other, by: kept.id, isChange: true)
        }
        return .issued(kept.id)
    }

    private mutating func create(
        _ candidate: RegistrationID,
        _ upsert: RegisterRequest.Upsert
    ) throws -> RegisterResult {
        // Where the candidate stands, the change was done before.
        let current = self.registrations[candidate] ?? self.holder(of: upsert.handle, RegistrationSlot(upsert))
        let id = current?.id ?? candidate
        // Of a registration that is there, nothing else comes but that it is changed, or was by a later change.
        if case .refused(let reason) = try self.upsert(id, upsert) { return .refused(reason) }
        return .issued(id)
    }

    /// Makes the live registrations with the installation's tag its parts, and ends the others.
    private mutating func install(_ installation: RegisterRequest.Installation) throws -> RegisterResult {
        var former = self.installed(installation.tag)
        if let base = installation.base {
            let now = try former.map {
                // Whose they are says the store, not the registrations.
                RegisterRequest.Installation.Base(try $0.registration(of: .default, tags: self.known.names))
            }
            guard Set(now) == Set(base) else { return .superseded }
        }
        let ids = installation.parts.map { part in
            let slot = RegistrationSlot(part.upsert)
            // One for the same goes on under its id, with another handle too.
            let index = former.firstIndex { slot.kind == .native ? $0.slot?.kind == .native : $0.slot == slot }
            return index.map { former.remove(at: $0).id }
        }
        // Before the new ones, for a device has only so many.
        for other in former where other.version < self.terms.sequence {
            self.delete(other, version: self.terms.sequence)
        }
        for (part, id) in zip(installation.parts, ids) {
            let holder = self.holder(of: part.upsert.handle, RegistrationSlot(part.upsert))
            let result = try self.upsert(id ?? holder?.id ?? part.candidate, part.upsert)
            guard result == .done else { return result }
        }
        return .done
    }

    /// The live registrations that have a tag.
    private func installed(_ tag: Tag) -> [KeptRegistration] {
        guard let number = self.known.tags[tag] else { return [] }
        return self.registrations.values.filter { $0.isLive && $0.tags.numbers.contains(number) }
            .sorted { ($0.row ?? 0) < ($1.row ?? 0) }
    }

    /// Changes the tags and the credential of a live registration.
    ///
    /// An earlier change that is done after a patch loses nothing by it, and a later one that is done before it supersedes it. A patch
    /// is done once: repeated after a later one it would undo that.
    private mutating func patch(_ id: RegistrationID, _ patch: RegisterRequest.Patch) -> RegisterResult {
        let row = self.registrations[id]
        let numbers = self.known.tags
        let removed = Set(patch.remove.compactMap { numbers[$0] })
        let kept = Set(row?.tags.numbers ?? []).subtracting(removed)
        // Before a tag that is new to the app has a number: numbers stay.
        let added = Set(patch.add).filter { !(numbers[$0].map(kept.contains) ?? false) }
        guard let row, self.terms.user == nil || row.user == self.terms.user else { return .notFound }
        guard row.state != .deleted else { return .gone }
        // What came later replaced all tags, and what is not live has none.
        guard row.version < self.terms.sequence else { return .superseded }
        guard row.isLive, let pns = row.slot?.pns else {
            return .refused("it is \(row.state.rawValue), not live: register the device again")
        }
        if let choice = patch.credential, !choice.services.contains(pns) {
            return .refused("the app declares no \(pns.rawValue) credential \"\(choice.name)\"")
        }
        // What has more tags already than it may have, as an import may give it, may lose some and be changed otherwise.
        let most = patch.mostTags ?? AppSpec.defaultTagsPerRegistration
        guard kept.count + added.count <= most || added.isEmpty else {
            return .refused("a registration has at most \(most) tags")
        }
        self.give(row, patch.add, keeping: Array(kept), patch.credential?.name ?? row.credential)
        return .done
    }

    private mutating func delete(_ id: RegistrationID) -> RegisterResult {
        if let row = self.registrations[id] {
            if row.state == .deleted { return row.version == self.terms.sequence ? .done : .gone }
            if row.version > self.terms.sequence { return .superseded }
            if self.terms.user == nil || row.user == self.terms.user {
                self.delete(row, version: self.terms.sequence)
                return .done
            }
        }
        // A change of this user that makes the registration, or takes it over, may yet come, and must find the deletion.
        self.deleted = id
        return .notFound
    }
}
