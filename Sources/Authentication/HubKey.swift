#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A key of a hub's rule: 32 random bytes in base64, as the original makes them.
package enum HubKey {
    /// A new key.
    package static func make() -> String {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }).base64EncodedString()
    }
}
