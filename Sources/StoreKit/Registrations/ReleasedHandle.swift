import Crypto
import Foundation
package import PushModel

/// A handle that left a registration, as a digest, because its owner may want it forgotten.
package struct ReleasedHandle: Hashable, Sendable {
    /// How long it is remembered: twice as long as a register job lives, so that none that is older can come.
    package static let life = Duration.seconds(2 * 86_400)

    /// ``RegistrationSlot/number``.
    package let slot: Int
    /// Of the handle's device, and of what it was for.
    package let digest: [UInt8]

    package init(slot: Int, digest: [UInt8]) {
        self.slot = slot
        self.digest = digest
    }

    package init(_ handle: Handle, _ slot: RegistrationSlot) {
        let identity = handle.sameDevice(at: slot.pns).lowerBound
        let name = slot.template.map { "\0\($0)" } ?? ""
        self.init(
            slot: slot.number,
            digest: Array(SHA256.hash(data: Data((identity + name).utf8)).prefix(16))
        )
    }
}
