package import PushModel

/// How many live registrations of a kind a user may have.
///
/// The oldest by their changes' order end, which no clock can turn round.
package struct RegistrationBound {
    /// The most.
    package let most: Int

    /// - Parameters:
    ///   - devices: How many devices a user may have.
    ///   - kind: For templates there may be as many as all devices may have.
    package init(devices: Int, _ kind: RegistrationKind) {
        self.most = kind == .native ? devices : devices * DeviceTemplate.maximumCount
    }

    /// Why one that is too many ends.
    package var reason: String {
        "its user has more than the \(self.most) live registrations allowed, and this was the oldest"
    }
}
