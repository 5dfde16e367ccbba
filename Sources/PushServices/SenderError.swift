import PushModel

/// The reason that an app has no sender for a push service: the missing or wrong setting or file, and the remedy.
///
/// Never holds the content of a file.
package struct SenderError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of fault.
    package enum Code: Sendable, Equatable {
        /// The app declares no credentials for that service.
        case notConfigured
        /// The service is retired.
        case retired
        /// A file that the app names cannot be read.
        case unreadableFile
        /// A file or setting of the app is invalid.
        case invalid
    }

    package let code: Code
    /// In words for the operator.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { self.message }

    /// The same of a named credential: recipes name the settings of the service's own section.
    func of(_ credential: CredentialName, at pns: PushService) -> SenderError {
        SenderError(self.code, credential.rename(self.message, at: pns))
    }
}

extension CredentialName {
    /// A text that begins with a setting of a service's section, as of this credential's.
    func rename(_ text: String, at pns: PushService) -> String {
        let section = "\(pns.rawValue)."
        guard self != .default, text.hasPrefix(section) else { return text }
        return "\(section)credentials.\(self.name).\(text.dropFirst(section.count))"
    }
}
