import PushModel
import Store
import StoreKit
import StoreSQL

/// A registration that is there already, as an import looks at it.
struct ImportKnown: Sendable {
    let row: Int64
    let id: RegistrationID
    let state: Registration.State
    let version: Int64
    let slot: RegistrationSlot?
    let handle: String?
    let user: ExactText?
    /// See ``StoreKit/TagList/text``.
    let tags: String?
    let digest: [UInt8]?

    static let columns: SQLStatement = """
        registration.row, registration.id, registration.state, registration.version, registration.pns, registration.template_slot,
        registration.handle, registration."user", registration.tags, registration.digest
        """

    init(_ row: SQLRow) throws {
        (self.row, self.version) = (try row["row"], try row["version"])
        self.id = try RegistrationID(stored: row["id"])
        self.state = try Registration.State(number: row["state"])
        self.slot = try RegistrationSlot.stored(row["pns"], row["template_slot"])
        (self.handle, self.tags, self.digest) = (try row["handle"], try row["tags"], try row["digest"])
        self.user = (try row["user"] as String?).map { ExactText($0) }
    }

    /// Whether an import changes nothing of it that another registration, or its former user's templates, depend on.
    func isRenewed(by row: ImportedRegistration) -> Bool {
        self.state == .live && self.slot == RegistrationSlot(row) && self.handle == row.handle.text
            && (self.user == nil || self.user == row.user?.key)
    }
}
