import FaultInjection
import Hub
import Logging
import PushModel
import PushServices
import Store

/// Does what register jobs ask of an app's broadcast channels, at Apple.
///
/// A creation is never made twice (rule 18): that it begins is committed before the call, and whoever finds it begun and
/// without an end knows that its answer is lost. All else can be repeated.
struct ChannelWork: Sendable {
    let clients: APNsChannelClients
    let store: any HubCallStore
    let logger: Logger

    /// Longer than any call takes: after it nobody is at a creation that has begun.
    private static let callTime = Duration.seconds(45)

    /// - Parameters:
    ///   - request: What is asked.
    ///   - job: The job that asks.
    ///   - spec: The app's declaration.
    ///   - retry: For the store.
    /// - Returns: What came of it.
    /// - Throws: ``HubError/Kind/unavailable(after:)`` when it is to be tried again; the store's error.
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
                "a worker that has ended may have made the channel: its answer is awaited"
            )
        case .taken, .unknown, nil: return .refused("the process died during the call; \(APNsChannels.mayBeMade)")
        case .withdrawn: return .refused("the job was stopped before")
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
