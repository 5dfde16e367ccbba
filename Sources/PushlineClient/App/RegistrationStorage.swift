public import Foundation

/// Keeps some hundred bytes for ``DeviceRegistration``: per install of the app, not per user.
///
/// The bytes must not move to another device, as by a backup: two devices would share one registration.
public protocol RegistrationStorage: Sendable {
    /// Reads what was written last.
    ///
    /// - Returns: The bytes; nil if nothing was written yet.
    /// - Throws: ``PushlineError`` with ``PushlineError/Code/storage`` if they cannot be read now.
    func read() throws -> Data?

    /// Replaces what was written before, all or nothing.
    ///
    /// - Throws: ``PushlineError`` with ``PushlineError/Code/storage``.
    func write(_ data: Data) throws
}
