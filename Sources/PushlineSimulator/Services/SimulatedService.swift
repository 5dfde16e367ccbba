package import PushModel

/// A push service that the simulator stands in for, as the rest of the simulator needs to know it.
struct SimulatedService: Sendable {
    /// All services; each has its own folder.
    static let all: [SimulatedService] = [.apns, .fcm, .wns, .web]

    let service: PushService
    /// The protocols on its port.
    let protocols: @Sendable (SimulatorConfiguration) -> Listener.Protocols
    /// The responder on its port.
    let responder: @Sendable (ResponderParts) -> any Responder
    /// The responders on further ports of its, where the service has hosts for them: by their names in ``SimulatorURLs``.
    var otherPorts: [String: @Sendable (ResponderParts) -> any Responder] = [:]
    /// Addresses at its port besides the port's own: names in ``SimulatorURLs``, and paths.
    var paths: [String: String] = [:]
    /// The reasons for faults.
    let answers: FaultAnswers
    /// The files with an app's secrets: their paths and contents.
    var files: @Sendable (SimulatorCredentials, SimulatorURLs) throws -> [(path: String, text: String)] = { _, _ in [] }
    /// The handle of a device, one for each name.
    let device: @Sendable (_ name: String, SimulatorCredentials, SimulatorURLs) -> String
    /// The declaration of an app whose pushes go to this simulator.
    let declaration: @Sendable (SimulatorCredentials, SimulatorURLs) -> any ServiceCredentials

    /// The stand-in for a service; nil if there is none.
    static func of(_ service: PushService) -> SimulatedService? { Self.all.first { $0.service == service } }

    /// The service that a request to the simulator names; nil if there is no stand-in for it.
    static func named(_ name: String) -> PushService? { Self.all.map(\.service).first { $0.rawValue == name } }

    /// The names of all ports of services, in ``SimulatorURLs`` and settings.
    static var portNames: [String] { Self.all.flatMap { [$0.service.rawValue] + $0.otherPorts.keys.sorted() } }

    /// The names that ``named(_:)`` takes, as a text lists them.
    static var names: String { PushService.list(Self.all.map(\.service)) }
}

/// The dependencies of responders.
struct ResponderParts {
    let core: SimulatorCore
    let credentials: SimulatorCredentials
    let keys: KeyMaterial
}

extension Simulator {
    /// The push services that it stands in for.
    package static let services = SimulatedService.all.map(\.service)
    /// The same by their names for people, such as `APNs, FCM, WNS`.
    package static let titles = services.map(\.descriptor.title).joined(separator: ", ")

    /// The handle of a device at a service: any that the service's own would take will do, and this is one for each name.
    ///
    /// - Parameters:
    ///   - name: Letters, digits and hyphens.
    ///   - service: The service.
    /// - Returns: The handle.
    /// - Throws: ``SimulatorError`` where it is not started, or has no stand-in for the service.
    package func device(_ name: String, of service: PushService) throws -> String {
        guard let simulated = SimulatedService.of(service) else {
            throw SimulatorError("there is no stand-in for \(service.rawValue)")
        }
        return simulated.device(name, try self.credentials, try self.urls)
    }
}
