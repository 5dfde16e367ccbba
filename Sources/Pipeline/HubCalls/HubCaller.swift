import FaultInjection
import Hub
import Logging
import NIOConcurrencyHelpers
import OutgoingHTTP
import Payloads
import PushModel
import PushServices
import Store

/// Hands sends to an app's hub over a wire, as other senders hand notifications to devices: one call for each expression of a job's list,
/// and one for many handles together.
///
/// No call is made twice that may have been taken (rule 18): it is written before it is made, and whoever finds it written and
/// without an answer knows that it is lost. So it is of a job that was stopped meanwhile: what the hub took counts as taken.
struct HubCaller: PushSender {
    let hub: any NotificationHub
    let store: any HubCallStore
    let app: AppID
    /// How long a call may take.
    let callTime: Duration
    let concurrency: Int
    /// Whether the hub takes lists of handles, as far as is known.
    let lists: HubLists
    let logger: Logger

    func send(_ batch: PushRequest) async -> [DeviceResult] {
        // A hub can validate nothing without delivering it.
        guard !batch.isDryRun else {
            let result: DeviceResult = batch.isStopped() ? .unsent : .settled(.accepted)
            return batch.indexes.map { _ in result }
        }
        // The hub has the credentials.
        let headers = ServiceFormat.of(batch.payload.kind.pns)?.headers(batch.headers, nil) ?? []
        // One that is begun later would outlast the batch.
        let last = batch.deadline - self.callTime - DeadlineWatch.grace
        let isWithdrawn: @Sendable () -> Bool = {
            batch.isStopped() || Task.isCancelled || ContinuousClock.now > last
        }
        // Of a job that was stopped nothing is called, and what was called before is looked up at once.
        let calls =
            isWithdrawn() ? [Call(places: Array(batch.indexes.indices), isWithdrawn: true)] : self.calls(of: batch)
        return await withTaskGroup(of: (Call, [DeviceResult]).self) { group in
            var results = Array(repeating: DeviceResult.unsent, count: batch.indexes.count)
            var next = calls.makeIterator()
            func start() {
                guard let call = next.next() else { return }
                group.addTask { (call, await self.send(batch, call, headers, isWithdrawn: isWithdrawn)) }
            }
            for _ in 0..<self.concurrency { start() }
            while let (call, answers) = await group.next() {
                for (place, answer) in zip(call.places, answers) { results[place] = answer }
                start()
            }
            return results
        }
    }

    /// Nothing is kept open here: connections are shared by all apps.
    func close(by deadline: ContinuousClock.Instant) async {}

    // MARK: Calls

    /// Devices of a batch that go together.
    private struct Call: Sendable {
        /// Their places among those to try.
        var places: [Int]
        /// Whether it is only looked up, and not made.
        var isWithdrawn = false
    }

    /// Divides a batch: handles that get the same go together, as many as a hub takes, and each expression alone.
    private func calls(of batch: PushRequest) -> [Call] {
        let most = self.lists.areTaken ? HubSend.mostHandles : 1
        var calls: [Call] = []
        var (bytes, job) = (0, JobID?.none)
        for (place, device) in batch.indexes.enumerated() {
            guard !batch.devices.isCall(at: device) else {
                calls.append(Call(places: [place]))
                job = nil
                continue
            }
            // In JSON with quotes and a comma.
            let size = batch.devices.handles.length(at: device) + 3
            let next = batch.job(of: device)
            if next == job, calls[calls.count - 1].places.count < most, bytes + size <= HubSend.mostListBytes {
                calls[calls.count - 1].places.append(place)
                bytes += size
            } else {
                calls.append(Call(places: [place]))
                (bytes, job) = (size, next)
            }
        }
        return calls
    }

    private func send(
        _ batch: PushRequest,
        _ call: Call,
        _ headers: [NativePayload.Header],
        isWithdrawn: @Sendable () -> Bool
    ) async -> [DeviceResult] {
        let devices = call.places.map { batch.indexes[$0] }
        let pns = batch.payload.kind.pns
        let keys = devices.map { HubCallKey(job: batch.job(of: $0), pns: pns, number: batch.devices.rows[$0]) }
        let isWithdrawnNow = call.isWithdrawn || isWithdrawn()
        let starts: [HubCallStart]
        do {
            starts = try await self.store.beginHubCalls(keys, lasting: self.callTime, isWithdrawn: isWithdrawnNow)
        } catch {
            self.logger.debug("A call of a hub cannot be begun", metadata: ["error": "\(error)"])
            // Maybe one was made before: it is looked at again, also where the job was stopped, and not counted as unsent.
            return keys.map { _ in .settled(.underWay(.zero)) }
        }
        var results = starts.map { DeviceResult($0) }
        let begun = starts.indices.filter { starts[$0] == .begun }
        guard let first = begun.first else { return results }
        CrashPoint.hubSubmitting.reach()
        let id = keys[first].job.notificationID(row: keys[first].number)
        let payload = NativePayload(kind: batch.payload.kind, headers: headers, body: batch.body(of: devices[first]))
        var (end, result) = await self.make(
            payload,
            to: begun.map { devices[$0] },
            of: batch,
            trackingID: begun.count == 1 ? "\(id)" : "\(id)-\(begun.count)"
        )
        CrashPoint.hubAnswered.reach()
        // One bad handle refuses a whole list: its halves tell which.
        let isDivided = begun.count > 1 && end == .refused
        if isDivided { (end, result) = (.notTaken, .unsent) }
        do {
            // Without a limit, as for outcomes: a call that was surely not taken would else be found under way, and end as unknown.
            try await StoreRetry(logger: self.logger).run {
                try await self.store.recordHubCalls(begun.map { keys[$0] }, .ended(end))
            }
        } catch {
            // The outcome has what is known; the call alone stays without.
            self.logger.warning("The answer of a hub cannot be written", metadata: ["error": "\(error)"])
        }
        guard isDivided else {
            for place in begun { results[place] = place == first || result == .unsent ? result : .together(result) }
            return results
        }
        let middle = begun.count / 2
        for half in [begun[..<middle], begun[middle...]] {
            let part = Call(places: half.map { call.places[$0] })
            let answers = await self.send(batch, part, headers, isWithdrawn: isWithdrawn)
            for (place, answer) in zip(half, answers) { results[place] = answer }
        }
        return results
    }

    private func make(
        _ payload: NativePayload,
        to devices: [Int],
        of batch: PushRequest,
        trackingID: String
    ) async -> (HubCallEnd, DeviceResult) {
        do {
            let audience = try self.audience(devices, of: batch)
            let send = HubSend(app: self.app, .native(payload), to: audience, trackingID: trackingID)
            let hub = self.hub
            let taken = await DeadlineWatch.shared.run(until: .now + self.callTime) {
                do { return Result<String?, any Error>.success(try await hub.take(send)) } catch {
                    return .failure(error)
                }
            }
            guard let taken else { return (.unknown, .unknown(reason: "the hub gave no answer in time")) }
            return (.taken(id: try taken.get()), .accepted)
        } catch let error as HubError {
            if devices.count > 1, error.kind == .misconfigured, error.status == 403 || error.status == 404 {
                // Each handle alone then: whether it is about the list, its answer shows.
                self.lists.refuse()
                return (.notTaken, .unsent)
            }
            return (HubCallEnd(error), DeviceResult(error))
        } catch let error as InvalidValue {
            return (.refused, .rejected(reason: error.reason, status: nil))
        } catch {
            return (.unknown, .unknown(reason: "the call of the hub failed: \(type(of: error))"))
        }
    }

    private func audience(_ devices: [Int], of batch: PushRequest) throws(InvalidValue) -> HubSend.Audience {
        if case .call(let expression) = try batch.devices.target(at: devices[0]) {
            return expression == .everyone ? .everyone : .expression(expression)
        }
        let list = devices.enumerated().map { index, device in
            let handle = batch.devices.handles.handle(at: device)
            return Recipient(place: index + 1, pns: batch.payload.kind.pns, handle: handle, reference: nil)
        }
        return .list(RecipientList(handles: list))
    }
}

/// Whether a hub takes lists of handles: the lowest tier of Azure takes one handle a call.
struct HubLists: Sendable {
    /// Asked again when this is over.
    private static let pause = Duration.seconds(3600)

    private let refused: NIOLockedValueBox<ContinuousClock.Instant?>

    init() { self.refused = NIOLockedValueBox(nil) }

    var areTaken: Bool { self.refused.withLockedValue { $0.map { $0.duration(to: .now) >= Self.pause } ?? true } }

    func refuse() { self.refused.withLockedValue { $0 = .now } }
}

extension DeviceResult {
    /// What stands in the store of a call before it is made.
    fileprivate init(_ start: HubCallStart) {
        self =
            switch start {
            case .begun, .withdrawn: .unsent
            case .taken: .settled(.accepted)
            case .unknown: .settled(.unknown)
            case .underWay(let left): .settled(.underWay(left))
            }
    }

    /// What a hub's error says about it.
    init(_ error: HubError) {
        self =
            switch error.kind {
            case .unavailable(let after):
                .retry(
                    after: after,
                    scope: .sender,
                    counts: error.status != nil,
                    reason: error.message,
                    status: error.status
                )
            case .misconfigured: .misconfigured(reason: error.message, status: error.status)
            case .refused: .rejected(reason: error.message, status: error.status)
            case .unknown: .unknown(reason: error.message)
            }
    }
}

extension HubCallEnd {
    fileprivate init(_ error: HubError) {
        self =
            switch error.kind {
            case .unavailable, .misconfigured: .notTaken
            case .refused: .refused
            case .unknown: .unknown
            }
    }
}
