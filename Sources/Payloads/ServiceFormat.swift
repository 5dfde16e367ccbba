package import PushModel

/// How notifications are written for one push service.
///
/// Each service has its own in its folder, and what it takes to write for it stands there alone.
package struct ServiceFormat: Sendable {
    /// Those of all services that take notifications.
    package static let all: [ServiceFormat] = [.apns, .fcm, .wns, .web]

    private static let byService = Dictionary(uniqueKeysWithValues: Self.all.map { ($0.service, $0) })

    /// That of a service; nil = it takes no notifications any more.
    package static func of(_ service: PushService) -> ServiceFormat? { Self.byService[service] }

    package let service: PushService
    /// Whether its payloads are JSON, not any text.
    package let isJSON: Bool
    /// How the names of data begin that the service keeps to itself, as a regular expression; nil = any name will do.
    package let reservedNames: String?
    /// Writes a content.
    let write: @Sendable (Content, PayloadFormatter.Options) throws(InvalidValue) -> PayloadFormatter.Measured
    /// Why a member for which the service has a place is dropped from this message; nil = it is not.
    let reasonToDrop: @Sendable (String, Content.Message) -> String?
    /// Whether a push can replace another with the same collapse key.
    package let hasCollapse: Bool
    /// The headers of a push, without the authorization and the device's own; without the app's credentials they have no topic.
    package let headers: @Sendable (PushHeaders, (any ServiceCredentials)?) -> [NativePayload.Header]
    /// The form that a send may give in place of the message.
    package let form: NativeForm
}
