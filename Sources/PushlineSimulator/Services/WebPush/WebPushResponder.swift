import Crypto
import Foundation
import NIOCore
import PushModel

/// Answers as the push services of browsers do, and reads what it is given as a browser does.
///
/// `POST /subscriptions/NAME` answers with the subscription of the browser of that name.
struct WebPushResponder: Responder {
    let core: SimulatorCore
    let browsers: SimulatedBrowsers
    let rules: WebPushRules

    private static let subscriptions = "/subscriptions/"

    init(core: SimulatorCore, browsers: SimulatedBrowsers, key: P256.Signing.PrivateKey) {
        self.core = core
        self.browsers = browsers
        self.rules = WebPushRules(key: key.publicKey)
    }

    func respond(to request: InboundRequest, on connection: ConnectionMemory) -> Reaction {
        if request.path.hasPrefix(Self.subscriptions) { return Reaction(.answer(self.subscribe(request))) }
        let browser =
            request.path.hasPrefix(SimulatedBrowsers.path)
            ? self.browser(String(request.path.dropFirst(SimulatedBrowsers.path.count))) : nil
        var request = request
        let message: [UInt8]?
        switch self.rules.check(request, origin: self.core.urls?.web ?? "", browser) {
        case .success(let read): message = read
        case .failure(let rejection):
            self.core.record(
                .web,
                token: browser?.handle ?? request.path,
                request: request,
                status: rejection.status,
                reason: rejection.reason
            )
            return Reaction(.answer(Self.refuse(rejection.status, rejection.reason)))
        }
        // The record has what the page would see.
        if let message { request.body = ByteBuffer(bytes: message) }
        var success = Answer(status: 201)
        success.add("location", "/m/" + String(UInt64.random(in: .min ... .max), radix: 16))
        success.add("ttl", request["ttl"] ?? "0")
        return self.core.decide(.web, token: browser?.handle ?? "", request: request, success: success) {
            reason,
            status,
            _ in
            Self.refuse(status, reason)
        }
    }

    private func browser(_ name: String) -> SimulatedBrowsers.Browser? {
        guard !name.isEmpty, let base = self.core.urls?.webEndpoint else { return nil }
        return self.browsers.browser(name, at: base)
    }

    private func subscribe(_ request: InboundRequest) -> Answer {
        guard request.method == "POST" else { return Self.refuse(405, "MethodNotAllowed") }
        let name = String(request.path.dropFirst(Self.subscriptions.count))
        guard let browser = self.browser(name), let base = self.core.urls?.webEndpoint else {
            return Self.refuse(404, "BadPath")
        }
        let subscription = JSONValue.members([
            "endpoint": .string(base + name), "expirationTime": .null,
            "keys": .members([
                "p256dh": .string(Base64URL.encode(browser.publicKey)),
                "auth": .string(Base64URL.encode(browser.authenticationSecret)),
            ]),
        ])
        return .json(
            201,
            JSONValue.members(["handle": .string(browser.handle), "subscription": subscription]).compactText
        )
    }

    private static func refuse(_ status: Int, _ reason: String) -> Answer {
        var answer = Answer.json(status, JSONValue.members(["reason": .string(reason)]).compactText)
        // A redirect leads to another browser, which would show who follows it.
        if (300..<400).contains(status) { answer.add("location", SimulatedBrowsers.path + "elsewhere") }
        return answer
    }
}
