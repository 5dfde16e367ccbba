import FaultInjection
import Hub
import Logging
import Payloads
import PushModel
import PushServices
import Store

/// Hands sends to an app's hub over a wire: one call for each place of a job's list, as other senders have one for each device.
///
/// No call is made twice that may have been taken (rule 18): it is written before it is made, and whoever finds it written and
/// without an answer knows that it is lost.
struct HubCaller: PushSender {
    let hub: any WireHub
    let store: any HubCallStore
    let spec: AppSpec
    /// How long a call may take.
    let callTime: Duration
    let concurrency: Int
    let logger: Logger

    func send(_ batch: PushRequest) async -> [DeviceResult] {
        // A hub can validate nothing without delivering it.
        guard !batch.isDryRun else { return batch.indexes.map { _ in .accepted } }
        let headers = ServiceFormat.of(batch.payload.kind.pns)?.headers(batch.headers, self.spec) ?? []
        // One that is begun later would outlast the batch.
        let last = batch.deadline - self.callTime
        return await withTaskGroup(of: (Int, DeviceResult).self) { group in
            var results = Array(repeating: DeviceResult.unsent, count: batch.indexes.count)
            var next = batch.indexes.enumerated().makeIterator()
            func start() {
                guard let (position, device) = next.next() else { return }
                group.addTask {
                    if batch.isStopped() || Task.isCancelled || ContinuousClock.now > last {
                        return (position, .unsent)
                    }
                    return (position, await self.send(batch, to: device, headers))
                }
            }
            for _ in 0..<self.concurrency { start() }
            while let (position, result) = await group.next() {
                results[position] = result
                start()
            }
            return results
        }
    }

    /// Nothing is kept open here: connections are shared by all apps.
    func close() async {}

    private func send(_ batch: PushRequest, to device: Int, _ headers: [NativePayload.Header]) async -> DeviceResult {
        let (job, number) = (batch.job(of: device), batch.devices.rows[device])
        let payload = NativePayload(kind: batch.payload.kind, headers: [], body: batch.body(of: device))
        let call = HubCallKey(job: job, pns: payload.kind.pns, number: number)
        do {
            switch try await self.store.beginHubCall(call, lasting: self.callTime) {
            case .begun: break
            case .taken: return .accepted
            case .unknown:
                return .unknown(reason: "the process died during the call: nobody knows whether the hub took it")
            case .underWay(let left):
                let reason = "another process was at the call; it is looked at again"
                return .retry(after: left, scope: .device, counts: false, reason: reason, status: nil)
            }
        } catch {
            self.logger.debug("A call of a hub cannot be begun", metadata: ["error": "\(error)"])
            return .unsent
        }
        CrashPoint.hubSubmitting.reach()
        let send = WireSend(
            payload: payload,
            headers: headers,
            address: HubAddress(batch.devices.handles.handle(at: device).text),
            trackingID: job.notificationID(row: number).description
        )
        let (end, result) = await self.make(send)
        CrashPoint.hubAnswered.reach()
        do {
            // Without a limit, as for outcomes: a call that was surely not taken would else be found under way, and end as unknown.
            try await StoreRetry(logger: self.logger).run { try await self.store.endHubCall(call, end) }
        } catch {
            // The outcome has what is known; the call alone stays without.
            self.logger.warning("The answer of a hub cannot be written", metadata: ["error": "\(error)"])
        }
        return result
    }

    private func make(_ send: WireSend) async -> (HubCallEnd, DeviceResult) {
        do throws(WireHubError) {
            return (.taken(id: try await self.hub.take(send)), .accepted)
        } catch {
            switch error.kind {
            case .notTaken(let after):
                let result = DeviceResult.retry(
                    after: after,
                    scope: .sender,
                    counts: error.status != nil,
                    reason: error.message,
                    status: error.status
                )
                return (.notTaken, result)
            case .misconfigured: return (.notTaken, .misconfigured(reason: error.message, status: error.status))
            case .refused: return (.refused, .rejected(reason: error.message, status: error.status))
            case .unknown: return (.unknown, .unknown(reason: error.message))
            }
        }
    }
}
