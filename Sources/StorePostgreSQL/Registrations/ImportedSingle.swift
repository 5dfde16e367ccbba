import PushModel
import Store
import StoreKit
import StoreSQL

/// A row of an import that is written as any single change of a registration is: a template, one that takes a handle from another or
/// changes its own, or one that later changes concern.
struct ImportedSingle: Sendable {
    enum Decision {
        case done(ImportResult)
        /// To be changed under that id; what to report when it was.
        case change(RegistrationID, ImportResult)
    }

    let row: ImportedRegistration
    let app: AppID
    let table: RegistrationTable
    let number: Int64
    let sequence: Int64

    /// Whether its user was removed, its id was deleted or its handle claimed later; the registration with its id, and that with its handle.
    var reads: [SQLStatement] {
        let (id, slot) = (self.row.id?.text, RegistrationSlot(self.row))
        let known: SQLStatement = "SELECT \(ImportKnown.columns) FROM registration"
        return [
            self.table.removal(of: self.row.user, after: self.sequence),
            self.table.claim(of: self.row.handle, slot, after: self.sequence),
            self.table.deletions(of: "CAST(\(id) AS text)", by: self.row.user, after: self.sequence),
            "\(known) WHERE app = \(self.number) AND id = \(id)",
            """
            \(known) WHERE \(self.table.have(self.row.handle, self.row.pns, slot.kind))
                AND template_slot IS NOT DISTINCT FROM \(slot.template)
            """,
        ]
    }

    func decide(_ found: [[SQLRow]]) throws -> Decision {
        guard found[0].isEmpty else { return .done(.superseded) }
        let isLate = !found[1].isEmpty || !found[2].isEmpty
        let (known, current) = (try found[3].first.map(ImportKnown.init), try found[4].first.map(ImportKnown.init))
        if known?.state == .deleted { return .done(.gone) }
        guard self.row.template == nil else { return self.template(known, current, isLate: isLate) }
        if let known = known ?? (isLate || self.row.id != nil ? nil : current) {
            if known.version > self.sequence { return .done(.superseded) }
            let isPassed = !known.isRenewed(by: self.row) && (isLate || (current?.version ?? 0) > self.sequence)
            return .change(known.id, isPassed ? .superseded : .updated)
        }
        if isLate || (current?.version ?? 0) > self.sequence { return .done(.superseded) }
        return .change(self.row.id ?? .random(), .created)
    }

    private func template(_ known: ImportKnown?, _ current: ImportKnown?, isLate: Bool) -> Decision {
        guard max(known?.version ?? 0, current?.version ?? 0) <= self.sequence, !isLate else {
            return .done(.superseded)
        }
        let id = self.row.id ?? current?.id ?? .random()
        return .change(id, known == nil && current?.id != id ? .created : .updated)
    }

    func change(_ id: RegistrationID, at wall: Timestamp) -> SQLTransaction<RegisterResult?> {
        let request = self.row.request(id)
        let job = RegisterJob(app: self.app, user: self.row.user, sequence: self.sequence)
        return self.table.change(request, RegistrationTerms(request, of: job, .bulk, at: wall))
    }
}
