/// A platform's push notification service.
///
/// Its raw value is its name in the API, in stored jobs and in the names of queues. Names and numbers never change; all
/// other properties are in its ``descriptor``.
package enum PushService: String, CaseIterable, Codable, Hashable, Sendable, Comparable {
    case apns
    case fcm
    case wns
    case mpns
    case web

    /// The number of the service in messages and tables; sets of services are bit masks of 2 to this power.
    ///
    /// From 1 to 62, and never the number of another service, not even of a removed one.
    package var number: Int {
        switch self {
        case .apns: 1
        case .fcm: 2
        case .wns: 3
        case .mpns: 4
        case .web: 5
        }
    }

    /// All else that is to be known of it.
    package var descriptor: Descriptor {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        case .wns: .wns
        case .mpns: .mpns
        case .web: .web
        }
    }

    /// Finds a service by its ``number``; nil if none has it.
    package init?(number: Int) {
        guard let found = PushService.allCases.first(where: { $0.number == number }) else { return nil }
        self = found
    }

    /// By its number: Swift's own way for a raw value hashes the text.
    package func hash(into hasher: inout Hasher) { hasher.combine(self.number) }

    package static func < (lhs: PushService, rhs: PushService) -> Bool { lhs.rawValue < rhs.rawValue }
}

// Values derived from descriptors.
extension PushService {
    /// The services that accept notifications.
    package static let inService = PushService.allCases.filter(\.isInService)

    /// Whether the service still takes notifications.
    package var isInService: Bool { self.descriptor.isInService }

    /// The names that the classic routes and a hub's wire accept for it, its own first.
    package var names: [String] { [self.rawValue] + self.descriptor.otherNames }

    /// Reads a platform's name of a classic route or a hub's wire: any letter case, other names too, such as `gcm` for ``fcm``.
    ///
    /// - Returns: nil when no service has that name.
    package init?(platformName: String) {
        let name = platformName.lowercased()
        let found =
            PushService(rawValue: name) ?? PushService.allCases.first { $0.descriptor.otherNames.contains(name) }
        guard let found else { return nil }
        self = found
    }

    /// A list of services as text: `apns, fcm or wns`.
    ///
    /// - Parameters:
    ///   - services: The services.
    ///   - otherNames: Whether to include the other names that ``init(platformName:)`` accepts.
    /// - Returns: The list.
    package static func list(_ services: [PushService] = allCases, otherNames: Bool = false) -> String {
        let names = otherNames ? services.flatMap(\.names) : services.map(\.rawValue)
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "\(names.dropLast().joined(separator: ", ")) or \(last)"
    }

    /// Why nothing can be sent to a service out of service; its name goes before it.
    private static let retiredFault = "is retired: its devices can be registered, but not sent to"

    /// Why nothing can be sent to this service, for a service out of service.
    package var retiredReason: String { "\(self.descriptor.title) \(Self.retiredFault)" }

    /// Why an app cannot send to this service with a credential that it does not declare.
    package func noCredentialsReason(_ credential: CredentialName = .default) -> String {
        let name = credential.named.map { "credential \"\($0)\"; declare it" } ?? "credentials; declare them"
        return "the app has no \(self.descriptor.title) \(name) with pushline apps apply"
    }

    /// The error for a name that is none of these services', or that of one out of service.
    ///
    /// - Parameters:
    ///   - name: The name; nil = it is not to be shown, or was no text.
    ///   - services: The accepted services.
    ///   - otherNames: Whether ``init(platformName:)`` reads the name.
    /// - Returns: The error, which lists their names.
    package static func unknown(
        _ name: String? = nil,
        among services: [PushService] = allCases,
        otherNames: Bool = false
    ) -> InvalidValue {
        let known = name.flatMap { otherNames ? PushService(platformName: $0) : PushService(rawValue: $0) }
        let fault = known != nil ? Self.retiredFault : otherNames ? "is not a platform" : "is not a push service"
        let words = "\(fault); use \(PushService.list(services, otherNames: otherNames))"
        return InvalidValue(name.map { "\"\($0.prefix(40))\" \(words)" } ?? words)
    }
}
