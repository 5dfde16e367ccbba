package import Logging
import NIOConcurrencyHelpers
package import PushModel
import ServiceLifecycle

/// The clients of Apple's channel management, one for each credential: APNs rejects frequent new provider tokens, and discourages
/// frequent new connections.
package final class APNsChannelClients: Service {
    private struct Entry {
        let declaration: AppSpec.APNs
        let channels: APNsChannels
        var files: [CredentialFile]
    }

    private struct State {
        var entries: [Entry] = []
        /// The few clients of former declarations and files; calls may be under way there, so they are closed with the process.
        var retired: [APNsChannels] = []
        var isClosed = false
    }

    private let state = NIOLockedValueBox(State())

    private let logger: Logger

    /// - Parameter logger: For calls that stop.
    package init(logger: Logger) { self.logger = logger }

    /// The client of a declaration's bundle id, with its files as they are now.
    ///
    /// - Throws: ``SenderError`` that names the wrong file or setting.
    package func channels(of declaration: AppSpec.APNs) throws(SenderError) -> APNsChannels {
        let result: Result<APNsChannels, SenderError> = self.state.withLockedValue { state in
            do throws(SenderError) { return .success(try self.channels(of: declaration, &state)) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func channels(of declaration: AppSpec.APNs, _ state: inout State) throws(SenderError) -> APNsChannels {
        guard !state.isClosed else { throw SenderError(.invalid, "the clients are closed: the process is stopping") }
        if let index = state.entries.firstIndex(where: { $0.declaration == declaration }) {
            var hasChanged = false
            for file in state.entries[index].files.indices where state.entries[index].files[file].hasChanged() {
                hasChanged = true
            }
            guard hasChanged else { return state.entries[index].channels }
            state.retired.append(state.entries.remove(at: index).channels)
        }
        let channels = try APNsChannels(declaration, logger: self.logger)
        state.entries.append(Entry(declaration: declaration, channels: channels, files: channels.files))
        return channels
    }

    package func run() async throws {
        try? await gracefulShutdown()
        await self.close()
    }

    /// Closes all connections; asking for a client afterwards throws.
    package func close() async {
        let all = self.state.withLockedValue { state in
            defer { state = State(isClosed: true) }
            return state.entries.map(\.channels) + state.retired
        }
        await withDiscardingTaskGroup { group in
            for channels in all { group.addTask { await channels.close() } }
        }
    }
}
