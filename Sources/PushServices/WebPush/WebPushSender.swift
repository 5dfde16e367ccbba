import AsyncHTTPClient
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
    private let metrics: SenderMetrics
    private let inProgress = SendsInProgress()

    init(
        tokens: VAPIDTokens,
        hosts: WebPushHosts,
        connectTo: ConnectTo,
        clients: PinnedClients,
        requestTimeout: Duration,
        metrics: SenderMetrics
    ) {
        self.tokens = tokens
        self.hosts = hosts
        self.connectTo = connectTo
        self.clients = clients
        self.requestTimeout = requestTimeout
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

    func close() async {
        await self.inProgress.close()
        await self.clients.close()
    }

    /// Sends the devices of the round, a limited number at a time.
    private func send(_ batch: PushRequest, _ round: inout SendRound) async {
        guard let window = SendWindow(deadline: batch.deadline, requestTimeout: self.requestTimeout) else { return }
        let headers = batch.headers.web()
        await round.request(batch, width: Self.width, within: window) { device in
            let handle = batch.devices.handles.handle(at: device)
            return await self.deliver(handle, headers, batch.body(of: device), window.requestTimeout)
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
        _ timeout: Duration
    ) async -> RequestResult {
        guard let subscription = self.subscription(handle),
            let encrypted = try? WebPushEncryption.encrypt(body, for: subscription)
        else { return .other(Self.forged) }
        let client: PinnedClients.Client
        do throws(HostAddresses.Fault) {
            client = try await self.clients.client(for: subscription.endpoint.host)
        } catch {
            return .other(error == .notPublic ? Self.notPublic : Self.unknownHost)
        }
        defer { client.inProgress.end() }
        let origin = subscription.endpoint.origin
        let request = self.request(subscription.endpoint, headers, encrypted)
        do {
            let token = try self.tokens.token(for: origin)
            let answer = try await self.answer(to: request, token, client.http, timeout)
            guard answer.answer == .credential, let fresh = try self.tokens.token(replacing: token, for: origin)
            else { return .answer(Self.ofDevice(answer)) }
            return .answer(Self.ofDevice(try await self.answer(to: request, fresh, client.http, timeout)))
        } catch is CryptoKitError {
            return .other(.misconfigured(reason: "the token cannot be signed", status: nil))
        } catch {
            // Also a network that is not reachable. Where a connection was lost instead, another address does no harm.
            if RequestFailure.isBeforeSending(error) || error is IOError {
                await self.clients.failed(client, of: subscription.endpoint.host)
            }
            return .other(DeviceResult(ofRequest: error))
        }
    }

    /// Who chose the address can choose one that refuses every token: that is this device's affair, and must not stop the others.
    private static func ofDevice(_ answer: Answer) -> Answer {
        var answer = answer
        if answer.answer == .credential { answer.answer = .waitDevice }
        return answer
    }

    private func answer(
        to request: HTTPClientRequest,
        _ token: VAPIDTokens.Token,
        _ client: HTTPClient,
        _ timeout: Duration
    ) async throws -> Answer {
        var request = request
        request.headers.replaceOrAdd(name: "Authorization", value: token.authorization)
        let start = ContinuousClock.now
        let response = try await client.execute(request, timeout: .milliseconds(timeout.milliseconds))
        // Read to its end so that the connection can be reused; a failure here does not change the status.
        let body = try? await response.body.collect(upTo: Self.maximumAnswer)
        if self.metrics.isNextTimed() { self.metrics.answered(after: .now - start) }
        return WebPushAnswers.answer(
            status: Int(response.status.code),
            retryAfter: response.headers.first(name: "Retry-After"),
            body: body.map { String(buffer: $0) } ?? ""
        )
    }

    private func request(
        _ endpoint: WebPushEndpoint,
        _ headers: [NativePayload.Header],
        _ body: [UInt8]
    ) -> HTTPClientRequest {
        var url = endpoint.url
        if let place = self.connectTo[endpoint.host] {
            // The host stays, for its certificate; the client's address is the place's.
            url = "https://\(endpoint.host):\(place.port)" + url.dropFirst(endpoint.origin.count)
        }
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        for header in headers { request.headers.add(name: header.name, value: header.value) }
        // WNS keeps messages by default, and takes that for a contradiction to a TTL of 0.
        if endpoint.host.hasSuffix(".notify.windows.com") {
            let isKept = request.headers.first(name: "TTL") != "0"
            request.headers.add(name: "X-WNS-Cache-Policy", value: isKept ? "cache" : "no-cache")
        }
        request.body = .bytes(ByteBuffer(bytes: body))
        return request
    }
}
