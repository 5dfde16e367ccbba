#if canImport(Security)
public import Foundation
import Security

/// Keeps a registration in the Keychain of this device, where it outlives the app.
///
/// It can be read once the device was unlocked after its start, and never moves to another device.
public struct KeychainRegistrationStorage: RegistrationStorage {
    /// The item's service.
    public let service: String
    /// The group of apps and extensions that share the item; nil = the app alone.
    public let accessGroup: String?

    /// Keeps it in an item of that service.
    public init(service: String = Bundle.main.bundleIdentifier ?? "pushline", accessGroup: String? = nil) {
        self.service = service
        self.accessGroup = accessGroup
    }

    private var query: [String: Any] {
        var query: [String: Any] = [
            kSecClass as String: kSecClassGenericPassword,
            kSecAttrService as String: self.service,
            kSecAttrAccount as String: "pushline-registration",
            kSecUseDataProtectionKeychain as String: true,
        ]
        if let accessGroup { query[kSecAttrAccessGroup as String] = accessGroup }
        return query
    }

    /// Reads the item.
    public func read() throws -> Data? {
        let one: [String: Any] = [
            kSecReturnData as String: true, kSecMatchLimit as String: kSecMatchLimitOne,
        ]
        var found: CFTypeRef?
        let status = unsafe SecItemCopyMatching(self.query.merging(one) { $1 } as CFDictionary, &found)
        switch status {
        case errSecSuccess: return found as? Data
        case errSecItemNotFound: return nil
        default: throw Self.failure("read", status)
        }
    }

    /// Changes the item, or adds it.
    public func write(_ data: Data) throws {
        let values: [String: Any] = [
            kSecValueData as String: data,
            kSecAttrAccessible as String: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        var status = SecItemUpdate(self.query as CFDictionary, values as CFDictionary)
        if status == errSecItemNotFound {
            status = unsafe SecItemAdd(self.query.merging(values) { $1 } as CFDictionary, nil)
        }
        guard status == errSecSuccess else { throw Self.failure("written", status) }
    }

    private static func failure(_ verb: String, _ status: OSStatus) -> PushlineError {
        let reason = unsafe SecCopyErrorMessageString(status, nil).map { $0 as String } ?? "status \(status)"
        return PushlineError(.storage, "the registration's Keychain item cannot be \(verb): \(reason)")
    }
}
#endif
