import FaultInjection
import Hub
import Logging
import NIOConcurrencyHelpers
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
    let breakers: Breakers
    let logger: Logger
    /// The jobs whose requests this process is at.
    private let inProgress = NIOLockedValueBox<Set<JobID>>([])

    /// The most requests at once: those that wait for a silent Apple leave registrations their permits.
    private static let mostRequests = 4
    /// After this time no other worker is still making a channel: a call, and twice as long again for the commit of its answer.
    ///
    /// A copy of the job in this process waits for as long as it takes.
    private static let callTime = APNsChannels.longestCall * 3

    init(clients: APNsChannelClients, store: any HubCallStore, breakers: Breakers, logger: Logger) {
        self.clients = clients
        self.store = store
        self.breakers = breakers
        self.logger = logger
    }

    /// Carries out a job and commits its result, if it is its turn.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - body: Does that.
    /// - Returns: What it returns.
    /// - Throws: ``HubIsResting`` if many jobs are being carried out, or the job is by a copy of its message; what the body throws.
    func inTurn<Value>(_ job: JobID, _ body: () async throws -> Value) async throws -> Value {
        let isItsTurn = self.inProgress.withLockedValue { $0.count < Self.mostRequests && $0.insert(job).inserted }
        guard isItsTurn else {
            throw HubIsResting(pause: .zero, reason: WaitReason("other requests to Apple about channels are under way"))
        }
        defer { _ = self.inProgress.withLockedValue { $0.remove(job) } }
        return try await body()
    }

    /// Carries out a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - job: Its register job.
    ///   - spec: The app's declaration.
    ///   - retry: Retries of the store.
    /// - Returns: The job's result.
    /// - Throws: ``HubError/Kind/unavailable(after:)`` or ``HubIsResting`` when the job is to be tried again; the store's error.
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
            return try await self.breakers.through(Breakers.Key(app: job.app, pns: .apns, credential: credential)) {
                do {
                    return try await self.carryOut(request.action, of: job, channels, retry)
                } catch let fault as APNsChannels.Fault {
                    return try Self.result(of: fault)
                }
            }
        } catch let error as NotCalled {
            return .refused(error.reason)
        } catch let error as HubError where error.kind == .refused || error.kind == .unknown {
            return .refused(error.message)
        }
    }

    private func carryOut(
        _ action: ChannelRequest.Action,
        of job: Job,
        _ channels: APNsChannels,
        _ retry: StoreRetry
    ) async throws -> RegisterResult {
        switch action {
        case .create(let storage): return try await self.create(storage, by: job, channels, retry)
        case .list(let after, let limit):
            let all = try await channels.all().sorted { $0.text < $1.text }
            let rest = after.map { after in all.filter { $0.text > after.text } } ?? all
            return .channels(rest.prefix(limit).map { BroadcastChannel(id: $0) }, hasMore: rest.count > limit)
        case .show(let id):
            let storage = try await channels.storage(of: id)
            return .channels([BroadcastChannel(id: id, storage: storage)], hasMore: false)
        case .delete(let id): return try await self.delete(id, by: job, channels, retry)
        }
    }

    private func create(
        _ storage: BroadcastChannel.Storage,
        by job: Job,
        _ channels: APNsChannels,
        _ retry: StoreRetry
    ) async throws -> RegisterResult {
        let call = Self.call(of: job)
        switch try await self.begin(call, retry) {
        case .begun: break
        case .underWay(let left):
            throw HubIsResting(
                pause: left,
                reason: WaitReason(
                    "another worker may be creating this channel; retrying when its time limit has passed"
                )
            )
        case .taken, .unknown, .withdrawn:
            throw NotCalled(reason: "the worker ended before it had Apple's answer; \(APNsChannels.mayBeMade)")
        }
        CrashPoint.hubSubmitting.reach()
        do {
            let id = try await channels.create(storage)
            CrashPoint.hubAnswered.reach()
            return .channels([BroadcastChannel(id: id, storage: storage)], hasMore: false)
        } catch let fault {
            // Without a limit: what Apple surely did not take would else be found under way, and end as unknown.
            try await StoreRetry(logger: retry.logger).run {
                try await self.store.recordHubCalls([call], .ended(HubCallEnd(fault.kind)))
            }
            throw fault
        }
    }

    /// A deletion is written as a creation is, so that one which is repeated knows it: whether an earlier try deleted the channel
    /// is not known then, and that it is gone is what was wanted.
    private func delete(
        _ id: APNsChannelID,
        by job: Job,
        _ channels: APNsChannels,
        _ retry: StoreRetry
    ) async throws -> RegisterResult {
        let isFirst = try await self.begin(Self.call(of: job), retry) == .begun
        do { try await channels.delete(id) } catch {
            guard error.kind == .notFound, !isFirst else { throw error }
        }
        return .done
    }

    private static func call(of job: Job) -> HubCallKey { HubCallKey(job: job.id, pns: .apns, number: 0) }

    private func begin(_ call: HubCallKey, _ retry: StoreRetry) async throws -> HubCallStart {
        let starts = try await retry.run {
            try await self.store.beginHubCalls([call], lasting: Self.callTime, isWithdrawn: false)
        }
        guard let start = starts.first, start != .withdrawn else {
            throw NotCalled(reason: "the job was stopped before the call to Apple")
        }
        return start
    }

    private static func result(of fault: APNsChannels.Fault) throws -> RegisterResult {
        switch fault.kind {
        case .unavailable(let wait): throw HubError(.unavailable(after: wait), fault.description)
        case .refused: throw HubError(.refused, fault.description)
        case .unknown: throw HubError(.unknown, fault.description)
        case .notFound: .notFound
        }
    }
}

/// A call that is not made: it says nothing about Apple.
private struct NotCalled: Error {
    let reason: String
}

extension HubCallEnd {
    fileprivate init(_ kind: APNsChannels.Fault.Kind) {
        self =
            switch kind {
            case .unavailable: .notTaken
            case .refused, .notFound: .refused
            case .unknown: .unknown
            }
    }
}
