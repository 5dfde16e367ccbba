package import PushModel

/// The effect of a change on the registration it names (rule 11).
///
/// A registration's version is the sequence of its last change, and a change applies only to lower versions.
package struct RegistrationDecision {
    /// The registration as it stands.
    package struct Status {
        let state: Registration.State
        let version: Int64
        let user: UserName?

        package init(state: Registration.State, version: Int64, user: UserName?) {
            self.state = state
            self.version = version
            self.user = user
        }
    }

    /// The effect of an upsert.
    package enum Upsert: Equatable {
        /// It is to be done.
        case apply
        /// Nothing is done: it was done before, or is not this user's to do.
        case end(RegisterResult)
        /// It comes too late for its own registration, but takes the handle from those that had it before.
        case passOver(RegisterResult)
    }

    /// The effect of a deletion.
    package enum Deletion: Equatable {
        /// It is to be done.
        case apply
        /// Nothing is done.
        case end(RegisterResult)
        /// A change of this user that makes the registration, or takes it over, may yet come, and must find the deletion.
        case remember
    }

    /// Who has a handle now that a change claims.
    package struct Holder {
        let id: RegistrationID
        let version: Int64

        package init(id: RegistrationID, version: Int64) {
            self.id = id
            self.version = version
        }
    }

    /// Whether a registration gets the handle that its change claims.
    package enum Claim: Equatable {
        /// It does; whoever has it is replaced.
        case given
        /// It does not, and ends with this reason: a later change has the handle, or had it, as if this one had come first.
        case refused(String)
    }

    /// On whose word a registration is changed.
    package enum Authority: Equatable {
        /// A user changes their own.
        case owner
        /// The app's backend or an operator changes anybody's.
        case app
        /// An import writes anybody's: many, under one sequence.
        case bulk
    }

    private let sequence: Int64
    private let user: UserName?
    private let authority: Authority

    /// - Parameters:
    ///   - sequence: The change's.
    ///   - user: Whose registration it is to be; of a deletion, who asks, and nil = the app.
    ///   - authority: On whose word.
    package init(sequence: Int64, user: UserName?, authority: Authority) {
        self.sequence = sequence
        self.user = user
        self.authority = authority
    }

    /// The effect of an upsert on an existing registration.
    ///
    /// - Parameters:
    ///   - row: The registration.
    ///   - hasSameHandle: Whether the registration has a handle of the change's device.
    /// - Returns: The effect.
    package func upsert(at row: Status, hasSameHandle: Bool) -> Upsert {
        if row.version > self.sequence {
            let result: RegisterResult = row.state == .deleted ? .gone : .superseded
            let takesHandle = row.user == nil || row.user == self.user || self.authority != .owner
            return takesHandle ? .passOver(result) : .end(result)
        }
        // The app's backend decides about its ids: nobody who registers and deletes one takes it from the backend.
        if row.state == .deleted { return self.authority == .app ? .apply : .end(.gone) }
        if row.version == self.sequence {
            // Done before: a message that comes again revives nothing that has ended since, and undoes no patch. An import may name
            // one twice.
            if self.authority != .bulk || row.state == .pruned || row.state == .expired { return .end(.done) }
        }
        return row.user == self.user || self.authority != .owner || hasSameHandle ? .apply : .end(.notFound)
    }

    /// Whether a registration that is written gets the handle.
    ///
    /// - Parameters:
    ///   - holder: The live registration that has a handle of the device, where that is another or none.
    ///   - isClaimedLater: Whether a later change claimed the handle, and was released since.
    /// - Returns: Whether it does.
    package func claim(from holder: Holder?, isClaimedLater: Bool) -> Claim {
        if let holder, holder.version > self.sequence { return .refused(Self.replaced(by: holder.id)) }
        return isClaimedLater ? .refused("its handle went to a later registration, which has ended") : .given
    }

    /// Whether a change that comes too late for its own registration takes the handle from who has it.
    package func passesOver(_ holder: Holder, for id: RegistrationID) -> Bool {
        holder.id != id && holder.version < self.sequence
    }

    /// Why a registration ends whose handle went to another.
    package static func replaced(by id: RegistrationID) -> String { "its handle went to registration \(id)" }

    /// The effect of a patch.
    ///
    /// What came later replaced all tags, and what is not live has none. What has more tags already than it may have, as an import may
    /// give it, may lose some and be changed otherwise.
    ///
    /// - Parameters:
    ///   - patch: The patch.
    ///   - row: The registration; nil = there is none.
    ///   - pns: Its service.
    ///   - kept: How many of its tags stay.
    ///   - added: How many it gets that it has not.
    /// - Returns: What comes of it, where it is not to be done.
    package func refusal(
        of patch: RegisterRequest.Patch,
        at row: Status?,
        _ pns: PushService?,
        kept: Int,
        added: Int
    ) -> RegisterResult? {
        guard let row, self.user == nil || row.user == self.user else { return .notFound }
        guard row.state != .deleted else { return .gone }
        guard row.version < self.sequence else { return .superseded }
        guard row.state == .live, let pns else {
            return .refused("it is \(row.state.rawValue), not live: register the device again")
        }
        if let choice = patch.credential, !choice.services.contains(pns) {
            return .refused("the app declares no \(pns.rawValue) credential \"\(choice.name)\"")
        }
        let most = patch.mostTags ?? AppSpec.defaultTagsPerRegistration
        return kept + added <= most || added == 0 ? nil : .refused("a registration has at most \(most) tags")
    }

    /// The effect of a deletion; nil = there is no registration.
    package func deletion(of row: Status?) -> Deletion {
        if let row {
            if row.state == .deleted { return .end(row.version == self.sequence ? .done : .gone) }
            if row.version > self.sequence { return .end(.superseded) }
            if self.user == nil || row.user == self.user { return .apply }
        }
        return .remember
    }
}
