import HTTP2Engine
import OutgoingHTTP
import Payloads
import PushModel

/// Delivers through Firebase: one POST a device over HTTP/2, with an OAuth access token.
///
/// Priority, time to live and collapse key are part of the payload.
final class FCMSender: PushSender {
    /// FCM answers more streams on a connection with a GOAWAY.
    static let maximumStreams = 100

    private let client: HTTP2Client
    private let tokenClient: OutgoingClient
    private let tokens: AccessTokens
    private let authority: String
    private let projectID: String
    private let requestTimeout: Duration
    private let metrics: SenderMetrics

    init(
        client: HTTP2Client,
        tokenClient: OutgoingClient,
        account: ServiceAccount,
        authority: String,
        requestTimeout: Duration,
        tokenPeer: Peer,
        metrics: SenderMetrics
    ) {
        self.client = client
        self.tokenClient = tokenClient
        self.authority = authority
        self.projectID = account.projectID
        self.requestTimeout = requestTimeout
        self.metrics = metrics
        let endpoint = TokenEndpoint(url: account.tokenURL, client: tokenClient, peer: tokenPeer)
        self.tokens = AccessTokens(timeout: requestTimeout) { deadline throws(TokenFault) in
            try await endpoint.token(form: account.form(), deadline: deadline)
        }
    }

    func send(_ batch: PushRequest) async -> [DeviceResult] {
        let start = ContinuousClock.now
        var round = SendRound(batch)
        let payloads = batch.messages.isEmpty ? [batch.payload.body] : batch.messages.map(\.body)
        let bodies = payloads.map { FCMBody(message: $0, isDryRun: batch.isDryRun) }
        round.fail(.rejected(reason: "the payload is not a JSON object", status: nil)) { position in
            bodies[Self.message(of: position, in: batch)] == nil
        }
        await self.send(batch, bodies, &round)
        let results = round.results()
        self.metrics.record(results, took: .now - start)
        return results
    }

    /// Which of a batch's messages the device at that position gets.
    private static func message(of position: Int, in batch: PushRequest) -> Int {
        batch.messageOf.isEmpty ? 0 : batch.messageOf[batch.indexes[position]]
    }

    private func send(_ batch: PushRequest, _ bodies: [FCMBody?], _ round: inout SendRound) async {
        guard !batch.isStopped() else { return }
        do throws(TokenFault) {
            let token = try await self.tokens.token(deadline: batch.deadline)
            await self.send(batch, bodies, token, &round)
            guard round.wants(.credential) else { return }
            guard !batch.isStopped() else { return round.repeatWhere(.credential) }
            let fresh = try await self.tokens.token(replacing: token, deadline: batch.deadline)
            round.repeatWhere(.credential)
            await self.send(batch, bodies, fresh, &round)
        } catch {
            round.endAll(error.result)
        }
    }

    func close(by deadline: ContinuousClock.Instant) async {
        await self.client.close(by: deadline)
        await self.tokenClient.close()
    }

    /// Sends the devices of the round.
    private func send(_ batch: PushRequest, _ bodies: [FCMBody?], _ token: String, _ round: inout SendRound) async {
        guard !round.open.isEmpty,
            let window = SendWindow(deadline: batch.deadline, requestTimeout: self.requestTimeout)
        else { return }
        let headers: HTTP2HeaderBlock
        do {
            let fields =
                [HTTP2Field("authorization", "Bearer \(token)")]
                + PushHeaders.fcm.map { HTTP2Field($0.name, $0.value) }
            headers = try HTTP2HeaderBlock(method: "POST", authority: self.authority, fields: fields)
        } catch {
            return round.endAll(.misconfigured(reason: "\(error.name) cannot be sent", status: nil))
        }
        let positions = round.open
        let path = Array("/v1/projects/\(self.projectID)/messages:send".utf8)[...]
        let outcomes = await self.client.send(
            HTTP2Exchange(
                count: positions.count,
                headers: headers,
                body: .each { index, bytes in
                    let position = positions[index]
                    bodies[Self.message(of: position, in: batch)]?
                        .append(handle: batch.devices.handles[batch.indexes[position]], to: &bytes)
                },
                interestingHeaders: FCMAnswers.interestingHeaders,
                sendBy: window.sendBy,
                requestTimeout: window.requestTimeout,
                isStopped: batch.isStopped
            ) { _, head in head.appendPath(path) }
        )
        round.take(outcomes, at: positions, FCMAnswers.answer)
    }
}
