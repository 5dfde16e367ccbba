import FaultInjection
import Hub
import Logging
import PushModel
import PushServices
import Store

/// Makes, lists, shows and deletes an app's broadcast channels at Apple, for register jobs.
///
/// A creation is never made twice (rule 18): its begin is committed before the call, so a worker that finds one without an
/// end knows that the answer is lost. The other actions can be repeated.
struct ChannelWork: Sendable {
    let clients: APNsChannelClients
    let store: any HubCallStore
    let logger: Logger

    /// Longer than any call takes: after this time no worker is still making a channel.
    private static let callTime = Duration.seconds(45)

    /// Carries out a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - job: Its register job.
    ///   - spec: The app's declaration.
    ///   - retry: Retries of the store.
    /// - Returns: The job's result.
    /// - Throws: ``HubError/Kind/unavailable(after:)`` when the job is to be tried again; the store's error.
    func result(
        of request: ChannelRequest,
        for job: Job,
        spec: AppSpec,
        _ retry: StoreRetry
    ) async throws -> RegisterResult {
        let credential = request.credential ?? .default
        guard let declared = spec.credentials[.apns, credential] as? AppSpec.APNs else {
            return .refused(PushService.apns.noCredentialsReason(credential))
        }
        let channels: APNsChannels
        do { channels = try self.clients.channels(of: declared) } catch {
            self.logger.error(
                "The credentials at APNs cannot be used",
                metadata: ["app": "\(job.app)", "error": "\(error)"]
            )
            return .refused(WaitReason(unusableCredentialsAt: .apns, with: credential).text)
        }
        do {
            switch request.action {
            case .create(let storage): return try await self.create(storage, by: job, channels, retry)
            case .list(let after, let limit):
                let all = try await channels.all().sorted { $0.text < $1.text }
                let rest = after.map { after in all.filter { $0.text > after.text } } ?? all
                return .channels(rest.prefix(limit).map { BroadcastChannel(id: $0) }, hasMore: rest.count > limit)
            case .show(let id):
                let storage = try await channels.storage(of: id)
                return .channels([BroadcastChannel(id: id, storage: storage)], hasMore: false)
            case .delete(let id):
                try await channels.delete(id)
                return .done
            }
        } catch let fault as APNsChannels.Fault {
            return try Self.result(of: fault)
        }
    }

    private func create(
        _ storage: BroadcastChannel.Storage,
        by job: Job,
        _ channels: APNsChannels,
        _ retry: StoreRetry
    ) async throws -> RegisterResult {
        let call = HubCallKey(job: job.id, pns: .apns, number: 0)
        let start = try await retry.run {
            try await self.store.beginHubCalls([call], lasting: Self.callTime, isWithdrawn: false)
        }
        switch start.first {
        case .begun: break
        case .underWay(let left):
            throw HubError(
                .unavailable(after: left),
                "another worker began to make the channel, and may have died: its time is awaited"
            )
        case .taken, .unknown, nil:
            return .refused("the worker died during the call to Apple; \(APNsChannels.mayBeMade)")
        case .withdrawn: return .refused("the job was stopped before the call to Apple")
        }
        CrashPoint.hubSubmitting.reach()
        do {
            let id = try await channels.create(storage)
            CrashPoint.hubAnswered.reach()
            return .channels([BroadcastChannel(id: id, storage: storage)], hasMore: false)
        } catch let fault {
            if case .unavailable = fault.kind {
                try await retry.run { try await self.store.endHubCalls([call], .notTaken) }
            }
            throw fault
        }
    }

    private static func result(of fault: APNsChannels.Fault) throws -> RegisterResult {
        switch fault.kind {
        case .unavailable(let wait): throw HubError(.unavailable(after: wait), fault.description)
        case .refused, .unknown: .refused(fault.description)
        case .notFound: .notFound
        }
    }
}
