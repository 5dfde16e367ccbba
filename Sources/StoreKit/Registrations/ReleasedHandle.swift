import Crypto
import Foundation
package import PushModel

/// A handle that left a registration, as a digest, because its owner may want it forgotten.
package enum ReleasedHandle {
    /// How long it is remembered: twice as long as a register job lives, so that none that is older can come.
    package static let life = Duration.seconds(2 * 86_400)

    /// Of the handle's device, and of what it was for.
    package static func digest(_ handle: Handle, _ slot: RegistrationSlot) -> [UInt8] {
        let identity = handle.sameDevice(at: slot.pns).lowerBound
        let name = slot.template.map { "\0\($0)" } ?? ""
        return Array(SHA256.hash(data: Data((identity + name).utf8)).prefix(16))
    }
}
