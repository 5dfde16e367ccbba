package import HTTP2Engine
import NIOCore
import Payloads
package import PushModel

/// Delivers to Apple's devices and broadcast channels: one POST each over HTTP/2, with a provider token or over connections with a certificate.
final class APNsSender: PushSender {
    private let client: HTTP2Client
    /// nil = the client's connections show a certificate.
    let token: APNsProviderToken?
    private let authority: String
    private let topic: String
    private let requestTimeout: Duration
    private let metrics: SenderMetrics

    init(
        client: HTTP2Client,
        token: APNsProviderToken?,
        authority: String,
        topic: String,
        requestTimeout: Duration,
        metrics: SenderMetrics
    ) {
        self.client = client
        self.token = token
        self.authority = authority
        self.topic = topic
        self.requestTimeout = requestTimeout
        self.metrics = metrics
    }

    func send(_ batch: PushRequest) async -> [DeviceResult] {
        let (start, began) = (ContinuousClock.now, NIODeadline.now())
        var round = SendRound(batch)
        do {
            var token = try self.token?.token()
            await self.send(batch, token, &round)
            // Once more, where a new token or connection may help. A new token goes over connections that have seen no other one: APNs
            // counts them.
            var needsNewConnections = round.wants(.connection)
            if round.wants(.credential), let refused = token, let fresh = try self.token?.token(replacing: refused) {
                token = fresh
                needsNewConnections = true
                round.repeatWhere(.credential)
            }
            round.repeatWhere(.connection)
            if needsNewConnections { await self.client.renewConnections(openedBefore: began) }
            await self.send(batch, token, &round)
        } catch {
            round.endAll(.misconfigured(reason: "the provider token cannot be signed", status: nil))
        }
        let results = round.results()
        if !batch.isDryRun { self.metrics.record(results, took: .now - start) }
        return results
    }

    func close(by deadline: ContinuousClock.Instant) async { await self.client.close(by: deadline) }

    /// Sends the devices of the round.
    private func send(_ batch: PushRequest, _ token: APNsProviderToken.Token?, _ round: inout SendRound) async {
        guard !round.open.isEmpty,
            let window = SendWindow(deadline: batch.deadline, requestTimeout: self.requestTimeout)
        else { return }
        let headers: HTTP2HeaderBlock
        do {
            headers = try HTTP2HeaderBlock(method: "POST", authority: self.authority, fields: self.fields(batch, token))
        } catch {
            return round.endAll(.rejected(reason: "\(error.name) cannot be sent: visible ASCII only", status: nil))
        }
        // APNs can validate nothing without delivering it.
        if batch.isDryRun { return round.endAll(.accepted) }
        let positions = round.open
        let bundle = batch.payload.kind == .broadcast ? Array(self.topic.utf8)[...] : nil
        let outcomes = await self.client.send(
            HTTP2Exchange(
                count: positions.count,
                headers: headers,
                body: batch.messages.isEmpty
                    ? .shared(batch.payload.body)
                    : .each { index, bytes in bytes += batch.body(of: batch.indexes[positions[index]]) },
                interestingHeaders: APNsAnswers.interestingHeaders,
                sendBy: window.sendBy,
                requestTimeout: window.requestTimeout,
                isStopped: batch.isStopped
            ) { index, head in
                let device = batch.indexes[positions[index]]
                if let bundle {
                    head.describe(channel: device, of: batch.devices, job: batch.job(of: device), bundle: bundle)
                } else {
                    head.describe(device, of: batch.devices, job: batch.job(of: device))
                }
            }
        )
        round.take(outcomes, at: positions, APNsAnswers.answer)
    }

    private func fields(_ batch: PushRequest, _ token: APNsProviderToken.Token?) -> [HTTP2Field] {
        let authorization = token.map { [HTTP2Field("authorization", "bearer \($0.text)")] } ?? []
        return authorization + batch.headers.apns(topic: self.topic).map { HTTP2Field($0.name, $0.value) }
    }
}

extension HTTP2RequestHead {
    /// Writes the headers of a single device at APNs: the path, and the notification's id.
    package mutating func describe(_ index: Int, of devices: DeliverBatch.Devices, job: JobID) {
        self.appendPath("/3/device/")
        self.appendPath(devices.handles[index])
        self.addField("apns-id") { job.notificationID(row: devices.rows[index]).appendText(to: &$0) }
    }

    /// Writes the headers of a single broadcast channel, which stands where a device stands: the path, the channel, and the
    /// notification's id under the name that it has there.
    fileprivate mutating func describe(
        channel index: Int,
        of devices: DeliverBatch.Devices,
        job: JobID,
        bundle: ArraySlice<UInt8>
    ) {
        self.appendPath("/4/broadcasts/apps/")
        self.appendPath(bundle)
        self.addField("apns-channel-id") { $0 += devices.handles[index] }
        self.addField("apns-request-id") { job.notificationID(row: devices.rows[index]).appendText(to: &$0) }
    }
}
