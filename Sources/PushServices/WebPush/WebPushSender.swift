import Crypto
import Logging
import NIOCore
import NIOHTTP1
import OutgoingHTTP
import Payloads
import PushModel

/// Delivers to browsers: one POST a subscription, encrypted for it, to the push service that the browser chose.
final class WebPushSender: PushSender {
    /// More than the reason of any push service.
    private static let maximumAnswer = 16 * 1024
    /// Requests in flight, over all hosts.
    private static let width = 128

    private let tokens: VAPIDTokens
    private let hosts: WebPushHosts
    private let connectTo: ConnectTo
    private let clients: PinnedClients
    private let requestTimeout: Duration
    private let peer: Peer
    private let metrics: SenderMetrics
    private let inProgress = SendsInProgress()

    init(
        tokens: VAPIDTokens,
        hosts: WebPushHosts,
        connectTo: ConnectTo,
        clients: PinnedClients,
        requestTimeout: Duration,
        peer: Peer,
        metrics: SenderMetrics
    ) {
        self.tokens = tokens
        self.hosts = hosts
        self.connectTo = connectTo
        self.clients = clients
        self.requestTimeout = requestTimeout
        self.peer = peer
        self.metrics = metrics
    }

    func send(_ batch: PushRequest) async -> [DeviceResult] {
        let start = ContinuousClock.now
        var round = SendRound(batch)
        guard self.inProgress.begin() else { return round.results() }
        defer { self.inProgress.end() }
        if batch.isDryRun {
            // No push service can validate anything without delivering it.
            round.fail(Self.forged) {
                self.subscription(batch.devices.handles.handle(at: batch.indexes[$0])) == nil
            }
            round.endAll(.accepted)
            return round.results()
        }
        await self.send(batch, &round)
        let results = round.results()
        self.metrics.record(results, took: .now - start)
        return results
    }

    func close(by deadline: ContinuousClock.Instant) async {
        await self.inProgress.close(by: deadline)
        await self.clients.close(by: deadline)
    }

    /// Sends the devices of the round, a limited number at a time.
    private func send(_ batch: PushRequest, _ round: inout SendRound) async {
        guard let window = SendWindow(deadline: batch.deadline, requestTimeout: self.requestTimeout) else { return }
        let headers = batch.headers.web()
        await round.request(batch, width: Self.width, within: window) { device in
            let handle = batch.devices.handles.handle(at: device)
            // From before the name is looked up until the last byte, a repetition included.
            let deadline = ContinuousClock.now + window.requestTimeout
            return await self.deliver(handle, headers, batch.body(of: device), deadline, batch.isStopped)
        }
    }

    private static let forged = DeviceResult.rejected(
        reason: "the endpoint is not at a push service that the app sends to",
        status: nil
    )
    private static let notPublic = DeviceResult.rejected(
        reason: "the endpoint's host has no address on the internet",
        status: nil
    )
    private static let unknownHost = DeviceResult.retry(
        after: nil,
        scope: .sender,
        counts: false,
        reason: "no connection: the endpoint's host is not found",
        status: nil
    )

    /// The hosts that the app allows may have changed since the device registered.
    private func subscription(_ handle: Handle) -> WebPushSubscription? {
        guard let subscription = try? WebPushSubscription(handle: handle.text),
            (try? self.hosts.check(subscription.endpoint)) != nil
        else { return nil }
        return subscription
    }

    private func deliver(
        _ handle: Handle,
        _ headers: [NativePayload.Header],
        _ body: [UInt8],
        _ deadline: ContinuousClock.Instant,
        _ isStopped: @Sendable () -> Bool
    ) async -> RequestResult {
        guard let subscription = self.subscription(handle),
            let encrypted = try? WebPushEncryption.encrypt(body, for: subscription)
        else { return .other(Self.forged) }
        let client: PinnedClients.Client
        do throws(HostAddresses.Fault) {
            client = try await self.clients.client(for: subscription.endpoint.host, by: deadline)
        } catch {
            return .other(error == .notPublic ? Self.notPublic : Self.unknownHost)
        }
        defer { client.inProgress.end() }
        let origin = subscription.endpoint.origin
        let request = self.request(subscription.endpoint, headers, encrypted)
        do {
            let token = try self.tokens.token(for: origin)
            let answer = try await self.answer(to: request, token, client.http, deadline)
            guard case .answer(let refused) = answer, refused.answer == .credential, !isStopped(),
                let fresh = try self.tokens.token(replacing: token, for: origin)
            else { return Self.ofDevice(answer) }
            return Self.ofDevice(try await self.answer(to: request, fresh, client.http, deadline))
        } catch let fault as NoAnswer {
            // Where a connection was lost or nothing was heard, another address does no harm.
            await self.clients.failed(client, of: subscription.endpoint.host)
            return .other(DeviceResult(fault))
        } catch {
            return .other(.misconfigured(reason: "the token cannot be signed", status: nil))
        }
    }

    /// Who chose the address can choose one that refuses every token: that is this device's affair, and must not stop the others.
    private static func ofDevice(_ result: RequestResult) -> RequestResult {
        guard case .answer(var answer) = result, answer.answer == .credential else { return result }
        answer.answer = .waitDevice
        return .answer(answer)
    }

    /// - Throws: ``NoAnswer``.
    private func answer(
        to request: OutgoingRequest,
        _ token: VAPIDTokens.Token,
        _ client: OutgoingClient,
        _ deadline: ContinuousClock.Instant
    ) async throws(NoAnswer) -> RequestResult {
        var request = request
        request.headers.replaceOrAdd(name: "Authorization", value: token.authorization)
        let start = ContinuousClock.now
        let answer = try await client.exchange(request, by: deadline, with: self.peer)
        if self.metrics.isNextTimed() { self.metrics.answered(after: .now - start) }
        var body = ""
        switch answer.body {
        case .whole(let bytes): body = String(buffer: bytes)
        case .cut(let reason) where WebPushAnswers.dependsOnBody(answer.status):
            return .other(.unanswered(reason: "the body of the answer \(answer.status) \(reason)"))
        case .cut, .tooLong: break
        }
        return .answer(
            WebPushAnswers.answer(
                status: answer.status,
                retryAfter: RetryAfter.wait { answer.headers.first(name: $0) },
                body: body
            )
        )
    }

    private func request(
        _ endpoint: WebPushEndpoint,
        _ headers: [NativePayload.Header],
        _ body: [UInt8]
    ) -> OutgoingRequest {
        var url = endpoint.url
        if let place = self.connectTo[endpoint.host] {
            // The host stays, for its certificate; the client's address is the place's.
            url = "https://\(endpoint.host):\(place.port)" + url.dropFirst(endpoint.origin.count)
        }
        var request = OutgoingRequest(
            .POST,
            url,
            body: ByteBuffer(bytes: body),
            longestAnswer: Self.maximumAnswer
        )
        for header in headers { request.headers.add(name: header.name, value: header.value) }
        // WNS keeps messages by default, and takes that for a contradiction to a TTL of 0.
        if endpoint.host.hasSuffix(".notify.windows.com") {
            let isKept = request.headers.first(name: "TTL") != "0"
            request.headers.add(name: "X-WNS-Cache-Policy", value: isKept ? "cache" : "no-cache")
        }
        return request
    }
}
