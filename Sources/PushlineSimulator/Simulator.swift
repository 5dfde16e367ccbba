import Foundation
package import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
package import PushModel
import ServiceLifecycle

/// Push services with their token endpoints, on loopback ports, as strict as the real ones.
///
/// It can be run as a service or started and stopped by hand. Once stopped it cannot be started again.
package final class Simulator: Service {
    /// The state while it runs.
    private struct Running {
        var groups: [MultiThreadedEventLoopGroup]
        var channels: [any Channel]
        var urls: SimulatorURLs
        var credentials: SimulatorCredentials
        var isFolderOurs: Bool
    }

    private let configuration: SimulatorConfiguration
    private let logger: Logger
    private let core: SimulatorCore
    private let running = NIOLockedValueBox<Running?>(nil)

    package init(_ configuration: SimulatorConfiguration = SimulatorConfiguration(), logger: Logger? = nil) {
        self.configuration = configuration
        self.logger = logger ?? Logger(label: "pushline.simulator") { _ in SwiftLogNoOpLogHandler() }
        self.core = SimulatorCore(configuration: configuration)
    }

    /// Binds all ports, then writes the credentials.
    ///
    /// - Returns: The addresses.
    /// - Throws: A port in use, or a folder that cannot be written.
    @discardableResult
    package func start() async throws -> SimulatorURLs {
        let keys = try KeyMaterial.load(folder: self.configuration.folder)
        let folder =
            self.configuration.folder
            ?? FileManager.default.temporaryDirectory.appending(path: "pushline-simulator-\(UUID().uuidString)").path
        let credentials = SimulatorCredentials(
            folder: folder,
            keys: keys,
            topic: self.configuration.bundleIDs.first ?? "com.example.pushline"
        )
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, self.configuration.threads))
        // Its own thread, so that a long answer about received pushes delays no push.
        let controlGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var channels: [any Channel] = []
        do {
            let parts = ResponderParts(core: self.core, credentials: credentials, keys: keys)
            var ports: [String: Int] = [:]
            for simulated in SimulatedService.all {
                let listener = Listener(group: group)
                let service = simulated.service
                let responders = simulated.otherPorts.merging([service.rawValue: simulated.responder]) { $1 }
                for (name, responder) in responders {
                    let port = self.configuration.ports[name] ?? 0
                    let channel = try await self.bind(simulated, port: port, listener, responder(parts), parts.keys)
                    channels.append(channel)
                    ports[name] = channel.localAddress?.port
                }
            }
            let control = try await Listener(group: controlGroup).bindPlain(
                port: self.configuration.controlPort,
                responder: ControlResponder(core: self.core)
            )
            channels.append(control)
            let urls = SimulatorURLs(ports: ports, control: control.localAddress?.port ?? 0)
            self.core.urls = urls
            try credentials.write(urls: urls)
            let isFolderOurs = self.configuration.folder == nil
            self.running.withLockedValue {
                $0 = Running(
                    groups: [group, controlGroup],
                    channels: channels,
                    urls: urls,
                    credentials: credentials,
                    isFolderOurs: isFolderOurs
                )
            }
            self.logger.debug("Simulator listens", metadata: ["simulator.control": "\(urls.control)"])
            return urls
        } catch {
            try? await Self.end(channels, [group, controlGroup])
            throw error
        }
    }

    private func bind(
        _ simulated: SimulatedService,
        port: Int,
        _ listener: Listener,
        _ responder: any Responder,
        _ keys: KeyMaterial
    ) async throws -> any Channel {
        let core = self.core
        let service = simulated.service
        return try await listener.bind(
            port: port,
            keys: keys,
            protocols: simulated.protocols(self.configuration),
            responder: responder,
            fault: { core.connectionFault(of: service) }
        )
    }

    /// Closes the ports and every connection, and removes a temporary folder; harmless when it does not run.
    package func stop() async throws {
        let running = self.running.withLockedValue { box in
            defer { box = nil }
            return box
        }
        guard let running else { return }
        try await Self.end(running.channels, running.groups)
        if running.isFolderOurs { try FileManager.default.removeItem(atPath: running.credentials.folder) }
    }

    private static func end(_ channels: [any Channel], _ groups: [MultiThreadedEventLoopGroup]) async throws {
        for channel in channels {
            // A port that is closed already is as good.
            try? await channel.close()
        }
        for group in groups { try await group.shutdownGracefully() }
    }

    /// Runs until graceful shutdown or cancellation, starting first where `start` was not called.
    package func run() async throws {
        if self.running.withLockedValue({ $0 == nil }) { try await self.start() }
        do {
            try await gracefulShutdown()
        } catch is CancellationError {
            // Ends the same way.
        }
        try await self.stop()
    }

    /// The addresses.
    package var urls: SimulatorURLs {
        get throws { try self.current().urls }
    }

    /// The credentials an app needs to send here.
    package var credentials: SimulatorCredentials {
        get throws { try self.current().credentials }
    }

    private func current() throws -> Running {
        guard let running = self.running.withLockedValue({ $0 }) else { throw SimulatorError("not started") }
        return running
    }

    /// Makes something go wrong from now on.
    package func inject(_ fault: SimulatorFault) {
        _ = self.core.state.withLockedValue { $0.add(fault) }
    }

    /// Forgets faults, received pushes, counts, and which topics device tokens belong to; access tokens stay good, and channels stay.
    package func reset() {
        self.core.state.withLockedValue { $0.reset() }
    }

    /// Removes only the faults.
    package func clearFaults() {
        self.core.state.withLockedValue { $0.clearFaults() }
    }

    /// Makes all access tokens given out so far useless, so that the next push is answered 401.
    package func revokeAccessTokens() {
        self.core.accessTokens.revokeAll()
    }

    /// The stored pushes that match, oldest first.
    ///
    /// - Parameters:
    ///   - token: A device token or channel URI, whole or its end.
    ///   - pns: The service.
    ///   - since: The first index wanted.
    /// - Returns: The received pushes, with any answer.
    package func received(
        token: String? = nil,
        pns: PushService? = nil,
        since: Int? = nil
    ) -> [ReceivedPush] {
        let filter = ReceivedFilter(token: token, pns: pns, sinceIndex: since)
        return self.core.state.withLockedValue { $0.journal.kept }.received(filter)
    }

    /// Counts of all that came in since the start or the last reset.
    package var counts: SimulatorCounts {
        self.core.state.withLockedValue { $0.journal.counts }
    }
}

/// Runs a simulator for the duration of a closure, and stops it after any result.
///
/// - Parameters:
///   - configuration: Ports, folder and limits.
///   - body: The closure.
/// - Returns: The closure's result.
/// - Throws: The closure's error, or the reason that the simulator could not start or stop.
package func withSimulator<Value>(
    _ configuration: SimulatorConfiguration = SimulatorConfiguration(),
    _ body: (Simulator) async throws -> Value
) async throws -> Value {
    let simulator = Simulator(configuration)
    try await simulator.start()
    let outcome: Result<Value, any Error>
    do {
        outcome = .success(try await body(simulator))
    } catch {
        outcome = .failure(error)
    }
    try await simulator.stop()
    return try outcome.get()
}
