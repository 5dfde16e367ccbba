import NIOSSL
package import PushModel

/// When something ends that a process shows to others, or trusts.
package struct CredentialExpiry: Sendable, Equatable {
    /// The setting that names it, such as `wns.client_secret_file`.
    package let setting: String
    package let end: Timestamp

    package init(setting: String, end: Timestamp) {
        self.setting = setting
        self.end = end
    }

    /// The same of a named credential.
    func of(_ credential: CredentialName, at pns: PushService) -> CredentialExpiry {
        CredentialExpiry(setting: credential.rename(self.setting, at: pns), end: self.end)
    }

    /// The end of a PEM file's certificates.
    ///
    /// - Parameters:
    ///   - setting: The setting that names it.
    ///   - path: Where it is.
    ///   - isChain: Whether each certificate is needed, as in a server's chain; of trusted ones the last is enough.
    /// - Returns: nil if it holds none.
    package static func ofCertificates(setting: String, path: String, isChain: Bool) -> CredentialExpiry? {
        // An unreadable file is reported by the code that needs it.
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path) else { return nil }
        let ends = certificates.map { Int64($0.notValidAfter) }
        guard let end = isChain ? ends.min() : ends.max() else { return nil }
        return CredentialExpiry(setting: setting, end: Timestamp(milliseconds: end * 1000))
    }

    /// Whole days until the end; negative after it.
    package func days(from now: Timestamp = .now) -> Int {
        Int((Double(self.end.milliseconds - now.milliseconds) / 86_400_000).rounded(.down))
    }

    /// Whether somebody should see to it.
    package func isNear(from now: Timestamp = .now) -> Bool { self.days(from: now) < 30 }

    /// Such as `ends on 2027-01-31, in 12 days`.
    package func words(from now: Timestamp = .now) -> String {
        let date = self.end.iso8601.prefix(10)
        let days = self.days(from: now)
        switch days {
        case ..<0: return "ended on \(date)"
        case 0: return "ends on \(date), within a day"
        case 1: return "ends on \(date), in 1 day"
        default: return "ends on \(date), in \(days) days"
        }
    }
}
