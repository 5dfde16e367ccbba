import Logging
import NIOCore
import NIOHTTP1
import OutgoingHTTP
import Payloads
import PushModel

/// Delivers to Windows devices: one POST a channel over HTTP/1.1.
///
/// WNS takes one request at a time on a connection, no chunked bodies and no pipelining, so the rate is connections over
/// round-trip time. async-http-client's pool is fast enough for that, where HTTP/2 needs the engine.
final class WNSSender: PushSender {
    /// More than WNS ever answers; its errors are in headers.
    private static let maximumAnswer = 16 * 1024

    private let spec: AppSpec.WNS
    private let client: OutgoingClient
    private let peer: Peer
    private let tokens: AccessTokens
    private let connections: Int
    private let requestTimeout: Duration
    private let metrics: SenderMetrics
    private let inProgress = SendsInProgress()

    init(spec: AppSpec.WNS, secret: String, client: OutgoingClient, parts: SenderParts, metrics: SenderMetrics) {
        self.spec = spec
        self.client = client
        self.peer = parts.peer(.wns)
        self.connections = parts.settings.http1Connections
        self.requestTimeout = parts.settings.requestTimeout
        self.metrics = metrics
        let endpoint = TokenEndpoint(url: spec.tokenURL, client: client, peer: parts.peer(.token))
        let form = [
            ("grant_type", "client_credentials"), ("client_id", spec.clientID), ("client_secret", secret),
            ("scope", spec.scope),
        ]
        self.tokens = AccessTokens(timeout: self.requestTimeout) { deadline throws(TokenFault) in
            try await endpoint.token(form: form, deadline: deadline)
        }
    }

    func send(_ batch: PushRequest) async -> [DeviceResult] {
        let start = ContinuousClock.now
        var round = SendRound(batch)
        guard !batch.isStopped(), self.inProgress.begin() else { return round.results() }
        defer { self.inProgress.end() }
        do throws(TokenFault) {
            let token = try await self.tokens.token(deadline: batch.deadline)
            await self.send(batch, token, &round)
            if round.wants(.credential) {
                // Of a send that was stopped nothing more is begun: a later attempt has the fresh token.
                let fresh =
                    batch.isStopped()
                    ? nil : try await self.tokens.token(replacing: token, deadline: batch.deadline)
                round.repeatWhere(.credential)
                if let fresh { await self.send(batch, fresh, &round) }
            }
        } catch {
            round.endAll(error.result)
        }
        let results = round.results()
        if !batch.isDryRun { self.metrics.record(results, took: .now - start) }
        return results
    }

    func close(by deadline: ContinuousClock.Instant) async {
        await self.inProgress.close(by: deadline)
        await self.client.close()
    }

    /// Sends the devices of the round, a limited number at a time.
    private func send(_ batch: PushRequest, _ token: String, _ round: inout SendRound) async {
        guard let window = SendWindow(deadline: batch.deadline, requestTimeout: self.requestTimeout) else { return }
        if batch.isDryRun {
            // WNS can validate nothing without delivering it.
            round.fail(Self.forged) { self.channel(batch.devices.handles.handle(at: batch.indexes[$0])) == nil }
            return round.endAll(.accepted)
        }
        let headers = self.headers(batch, token)
        let shared = ByteBuffer(bytes: batch.payload.body)
        await round.request(batch, width: self.connections, within: window) { device in
            let handle = batch.devices.handles.handle(at: device)
            let body = batch.messages.isEmpty ? shared : ByteBuffer(bytes: batch.body(of: device))
            return await self.deliver(handle, headers, body, window.requestTimeout)
        }
    }

    private static let forged = DeviceResult.rejected(reason: "the channel is not WNS' own", status: nil)

    /// A forged channel would receive the app's token: checked again before it is sent.
    private func channel(_ handle: Handle) -> Handle? {
        try? Handle(handle.text, pns: .wns, channelPrefixes: self.spec.channelPrefixes)
    }

    private func deliver(
        _ handle: Handle,
        _ headers: HTTPHeaders,
        _ body: ByteBuffer,
        _ timeout: Duration
    ) async -> RequestResult {
        guard let channel = self.channel(handle) else { return .other(Self.forged) }
        let request = OutgoingRequest(
            .POST,
            channel.text,
            headers: headers,
            body: body,
            longestAnswer: WNSSender.maximumAnswer
        )
        let start = ContinuousClock.now
        do throws(NoAnswer) {
            // The body is read so that the connection can be reused; whatever becomes of it, the head says it all.
            let response = try await self.client.exchange(request, by: start + timeout, with: self.peer)
            if self.metrics.isNextTimed() { self.metrics.answered(after: .now - start) }
            return .answer(WNSAnswers.answer(status: response.status) { response.headers.first(name: $0) })
        } catch {
            return .other(DeviceResult(error))
        }
    }

    private func headers(_ batch: PushRequest, _ token: String) -> HTTPHeaders {
        var headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
        for header in batch.headers.wns() { headers.add(name: header.name, value: header.value) }
        return headers
    }
}
