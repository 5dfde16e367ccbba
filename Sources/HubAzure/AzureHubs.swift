import Foundation
package import Hub
import HubWire
package import Logging
import NIOConcurrencyHelpers
import NIOPosix
import OutgoingHTTP
package import PushModel
import ServiceLifecycle

/// The Azure hubs of a process' apps, over shared connections.
package final class AzureHubs: WireHubs, Service {
    /// How long a connection string that was read is good: one that was replaced is used from then on.
    private static let freshness = Duration.seconds(5)
    /// More than any connection string has.
    private static let longestFile = 16 << 10

    private struct Entry {
        let text: String
        let hub: AzureHub
        let read: ContinuousClock.Instant
    }

    private struct State {
        /// Made for the first app that has such a hub: most processes have none.
        var client: OutgoingClient?
        var isClosed = false
        var entries: [AppSpec.AzureHub.Place: Entry] = [:]
    }

    private let configuration: AzureHubConfiguration
    private let logger: Logger
    private let state = NIOLockedValueBox(State())

    /// - Parameters:
    ///   - configuration: Limits; certificates to trust are each app's own.
    ///   - logger: For calls that stop.
    package init(configuration: AzureHubConfiguration = .ofWorkers, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
    }

    /// Closes the connections at the end.
    package func run() async throws {
        try? await gracefulShutdown()
        await self.close()
    }

    /// Closes the connections.
    ///
    /// Nothing may be asked afterwards.
    package func close() async {
        let client = self.state.withLockedValue { state in
            defer { (state.client, state.isClosed) = (nil, true) }
            return state.client
        }
        await client?.close()
    }

    /// What is wrong with a hub or its declaration; nil = it answers, and the rule may read registrations.
    package func fault(of declaration: AppSpec.AzureHub) async -> String? {
        do throws(HubError) {
            let hub = try self.client(of: declaration)
            do throws(AzureHubError) { _ = try await hub.registrations(top: 1) } catch { return error.description }
            return nil
        } catch {
            return error.message
        }
    }

    package func hub(_ declaration: AppSpec.AzureHub) throws(HubError) -> any NotificationHub {
        AzureAppHub(hub: try self.client(of: declaration))
    }

    private func client(of declaration: AppSpec.AzureHub) throws(HubError) -> AzureHub {
        let now = ContinuousClock.now
        let known = self.state.withLockedValue { $0.entries[declaration.place] }
        if let known, known.read.duration(to: now) < Self.freshness { return known.hub }
        let path = declaration.connectionStringFile
        let text: String
        do {
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            defer { try? file.close() }
            text = String(decoding: try file.read(upToCount: Self.longestFile) ?? Data(), as: UTF8.self)
        } catch {
            throw HubError(
                .unavailable(),
                "hub.azure.connection_string_file: \(path) cannot be read; it must be there, and readable for this user"
            )
        }
        if let known, known.text == text {
            self.keep(Entry(text: text, hub: known.hub, read: now), for: declaration)
            return known.hub
        }
        let connection: ConnectionString
        do { connection = try ConnectionString(text) } catch {
            throw HubError(.unavailable(), "hub.azure.connection_string_file: \(path): \(error.reason)")
        }
        var configuration = self.configuration
        configuration.trustFile = declaration.trustFile
        let hub = AzureHub(
            connection,
            name: declaration.name,
            client: try self.connections(),
            configuration: configuration,
            logger: self.logger
        )
        self.keep(Entry(text: text, hub: hub, read: now), for: declaration)
        return hub
    }

    /// The connections, which all hubs share.
    private func connections() throws(HubError) -> OutgoingClient {
        let client = self.state.withLockedValue { state -> OutgoingClient? in
            guard !state.isClosed else { return nil }
            let made =
                state.client
                ?? AzureHub.client(on: MultiThreadedEventLoopGroup.singleton, configuration: self.configuration)
            state.client = made
            return made
        }
        guard let client else { throw HubError(.unavailable(), "the process is about to end") }
        return client
    }

    private func keep(_ entry: Entry, for declaration: AppSpec.AzureHub) {
        self.state.withLockedValue { $0.entries[declaration.place] = entry }
    }
}

extension AzureHubConfiguration {
    /// For workers: a call ends well before anybody may take it for lost (rule 18).
    package static var ofWorkers: AzureHubConfiguration {
        var configuration = AzureHubConfiguration()
        configuration.requestTimeout = .seconds(20)
        return configuration
    }
}

extension AppSpec.AzureHub {
    /// What makes a client.
    fileprivate struct Place: Hashable {
        let connectionStringFile: String
        let name: String
        let trustFile: String?
    }

    fileprivate var place: Place {
        Place(
            connectionStringFile: self.connectionStringFile,
            name: self.name,
            trustFile: self.trustFile
        )
    }
}
