import PushModel
package import Store
package import StoreKit

/// What a driver finds a live registration by, made from its row: each driver has it in another form.
extension HandleDigest {
    /// The number of a row's handle; nil = it is not live.
    ///
    /// - Throws: ``StoreError`` where the row cannot be read.
    package func number(of row: SQLRow) throws(StoreError) -> Int64? {
        try Self.device(of: row).map { self.number(of: $0.handle, $0.slot.pns, $0.slot.kind, app: $0.app) }
    }

    /// The bytes of a row's handle; nil = it is not live.
    ///
    /// - Throws: ``StoreError`` where the row cannot be read.
    package func bytes(of row: SQLRow) throws(StoreError) -> [UInt8]? {
        try Self.device(of: row).map { self.bytes(of: $0.handle, $0.slot.pns, $0.slot.kind, app: $0.app) }
    }

    private struct Device {
        let app: Int64
        let slot: RegistrationSlot
        let handle: Handle
    }

    private static func device(of row: SQLRow) throws(StoreError) -> Device? {
        guard try row["state"] as Int == Registration.State.live.number else { return nil }
        guard let slot = try RegistrationSlot.stored(row["pns"], row["template_slot"]) else {
            throw StoreError(.corrupt, "a live registration has no push service")
        }
        return Device(app: try row["app"], slot: slot, handle: Handle(stored: try row["handle"]))
    }
}
