extension PushService {
    /// A push service as the rest of Pushline needs to know it.
    package struct Descriptor: Sendable {
        /// Its name for people, such as `APNs`.
        package let title: String
        /// Alternative names, in lower case.
        package let otherNames: [String]
        /// Whether it still takes notifications; of one that does not, devices can be registered all the same.
        package let isInService: Bool
        /// The kinds of its payloads; none where it takes no notifications.
        package let kinds: [NativePayload.Kind]
        /// The form of its handles.
        package let handle: HandleForm
        /// Whether a handle contains the host to send to.
        ///
        /// Then a failed connection proves nothing about the service: otherwise one invented handle could stop an app's
        /// messages to everyone.
        package let deviceChoosesHost: Bool
        /// Whether a dry run is a request of its own, which the service checks and delivers to nobody.
        ///
        /// The other services are not asked.
        package let validatesDryRuns: Bool
        /// For how many devices at APNs one counts among those in progress.
        ///
        /// More where each push is a task of its own, some fifty times as dear: with as many at once a message would take longer than
        /// those of an app that counts as slow.
        package let weight: Int
        /// The section of an app's declaration that has its credentials, under the service's name; nil = it takes none.
        package let credentials: (any ServiceCredentials.Type)?

        init(
            title: String,
            otherNames: [String] = [],
            isInService: Bool = true,
            kinds: [NativePayload.Kind],
            handle: HandleForm,
            deviceChoosesHost: Bool = false,
            validatesDryRuns: Bool = false,
            weight: Int = 1,
            credentials: (any ServiceCredentials.Type)?
        ) {
            self.title = title
            self.otherNames = otherNames
            self.isInService = isInService
            self.kinds = kinds
            self.handle = handle
            self.deviceChoosesHost = deviceChoosesHost
            self.validatesDryRuns = validatesDryRuns
            self.weight = weight
            self.credentials = credentials
        }
    }

    /// The form of a service's handles.
    package struct HandleForm: Sendable {
        /// Pairs of hexadecimal digits, kept in lower case: they compare without regard to case, and travel as two digits a byte.
        package let isHexadecimal: Bool
        /// The regular expression that the API's description has for them.
        package let pattern: String
        /// Checks and normalises a handle that is neither empty nor longer than ``Handle/maximumLength``; the second
        /// argument has the beginnings of handles that the operator allows.
        let normalise: @Sendable (_ text: String, _ prefixes: [String]) throws(InvalidValue) -> String
        /// The beginnings of handles that an app's declaration allows besides the usual ones.
        let prefixes: @Sendable (AppSpec) -> [String]
        /// The stored form of a handle that somebody looks for; nil = it is none of the service's.
        let lookup: @Sendable (_ text: String) -> String?
        /// The beginning of a stored handle that says which device it is; nil = the whole handle does.
        ///
        /// Handles that differ behind it are the same device's. No other device's begins with it, and none has a `~` behind it.
        let identity: @Sendable (_ text: String) -> String?

        init(
            isHexadecimal: Bool = false,
            pattern: String,
            normalise: @escaping @Sendable (_ text: String, _ prefixes: [String]) throws(InvalidValue) -> String,
            prefixes: @escaping @Sendable (AppSpec) -> [String] = { _ in [] },
            lookup: @escaping @Sendable (_ text: String) -> String? = { _ in nil },
            identity: @escaping @Sendable (_ text: String) -> String? = { _ in nil }
        ) {
            self.isHexadecimal = isHexadecimal
            self.pattern = pattern
            self.normalise = normalise
            self.prefixes = prefixes
            self.lookup = lookup
            self.identity = identity
        }

        /// Refuses characters that no token or address contains: spaces and non-ASCII letters.
        static func visible(_ text: String, _ name: String) throws(InvalidValue) -> String {
            guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw InvalidValue("\(name) holds visible ASCII characters only")
            }
            return text
        }
    }
}
