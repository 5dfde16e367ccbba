import PushModel
import Store
import StoreKit

extension RegistrationChange {
    /// Makes the live registrations with the installation's tag its parts, and ends the others; all of it, or nothing.
    func install(_ installation: RegisterRequest.Installation) throws -> RegisterResult {
        var result = RegisterResult.done
        try self.database.inSavepoint {
            result = try self.replace(installation)
            return result == .done
        }
        return result
    }

    private func replace(_ installation: RegisterRequest.Installation) throws -> RegisterResult {
        var former = try self.live(with: installation.tag)
        if let base = installation.base {
            let now = try former.map { RegisterRequest.Installation.Base(try $0.registration(in: self.database)) }
            guard Set(now) == Set(base) else { return .superseded }
        }
        let known = installation.parts.map { part in
            let slot = RegistrationSlot(part.upsert)
            // One for the same goes on under its id, with another handle too.
            let index = former.firstIndex { slot.kind == .native ? $0.slot?.kind == .native : $0.slot == slot }
            return index.map { former.remove(at: $0).id }
        }
        // Before the new ones, for a device has only so many.
        for other in former where other.version < self.sequence { try self.delete(other, version: self.sequence) }
        for (part, id) in zip(installation.parts, known) {
            let slot = RegistrationSlot(part.upsert)
            let id = try id ?? self.registration(with: part.upsert.handle, slot)?.id ?? part.candidate
            let result = try self.upsert(id, part.upsert)
            guard result == .done else { return result }
        }
        return .done
    }

    static let installed = "SELECT row FROM tagged WHERE tag = ?"

    /// The live registrations that have a tag.
    private func live(with tag: Tag) throws -> [RegistrationRow] {
        guard let number = try TagFinder(self.database, app: self.app).find(tag), case .number(let tag) = number else {
            return []
        }
        let rows: [Int64] = try self.database.values(Self.installed, [tag])
        return try rows.sorted().compactMap { try self.row(number: $0) }
    }

    /// Refuses one template more than a device may have; one that takes the place of another of the device needs no room.
    func refusal(of upsert: RegisterRequest.Upsert, replacing row: RegistrationRow?) throws -> RegisterResult? {
        let isOfDevice =
            row?.state == .live && row?.slot?.kind == .template && row?.slot?.pns == upsert.pns
            && row?.handle.map { upsert.handle.sameDevice(at: upsert.pns).contains($0.text) } == true
        guard upsert.template != nil, !isOfDevice,
            try self.registration(with: upsert.handle, RegistrationSlot(upsert)) == nil,
            try self.context.templates(of: upsert.handle, upsert.pns, app: self.app).count
                >= DeviceTemplate.maximumCount
        else { return nil }
        return .refused("a device has at most \(DeviceTemplate.maximumCount) templates")
    }

    /// Ends the templates on the handle of a registration for native notifications.
    ///
    /// - Parameters:
    ///   - row: The registration.
    ///   - user: Whose; nil = all.
    /// - Throws: SQLite's error.
    func endTemplates(of row: RegistrationRow, user: UserName? = nil) throws {
        guard let slot = row.slot, slot.kind == .native, let handle = row.handle else { return }
        for number in try self.context.templates(of: handle, slot.pns, app: self.app) {
            guard let template = try self.row(number: number), template.version < self.sequence,
                user == nil || template.user == user
            else { continue }
            try self.context.end(number, as: .replaced, reason: "its device began anew", where: "1", [])
        }
    }
}
