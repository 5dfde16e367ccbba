import AsyncHTTPClient
import Foundation
import InstallationSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import OutgoingHTTP
import PushlineSimulator
import RawHTTP

/// Stands between an app and a `pushline-hub`: passes each call on as it came, but for those that are to meet a fault.
final class FaultyProxy: Sendable {
    enum Fault: Sendable {
        /// The call does not go on, and is answered so.
        case answer(RawServer.Reply)
        /// The call goes on, and its answer is lost so.
        case loseAnswer(RawServer.Reply)
    }

    private struct State {
        /// By the texts of the calls that meet them.
        var faults: [String: Fault] = [:]
        var calls: [RawServer.Request] = []
    }

    let hub: HubAccess
    private let client: HTTPClient
    private let state = NIOLockedValueBox(State())

    private init(_ hub: HubAccess, _ client: HTTPClient) { (self.hub, self.client) = (hub, client) }

    /// Stands there while the body runs, which is given its port.
    static func run(before hub: HubAccess, _ body: (FaultyProxy, Int) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let authority = folder.appending(path: "authority.pem")
        try Data(hub.authority.utf8).write(to: authority)
        let tls = try KeyMaterial.load(folder: nil)
            .serverContext(protocols: ["http/1.1"], takesCertificates: false)
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton,
            configuration: .outgoing(trustFile: authority.path)
        )
        let proxy = FaultyProxy(hub, client)
        let result: Result<Void, any Error>
        do {
            try await RawServer.run(.tls(tls), react: { await proxy.react($0) }) { try await body(proxy, $0.port) }
            result = .success(())
        } catch { result = .failure(error) }
        try await client.shutdown()
        try result.get()
    }

    /// Lets the next call that has a text, in its body or as the beginning of its head (`GET /hub/messages/`), meet a fault, once.
    func meet(_ fault: Fault, with text: String) { self.state.withLockedValue { $0.faults[text] = fault } }

    /// The calls that had a text, those that met a fault among them.
    func calls(with text: String) -> [RawServer.Request] {
        self.state.withLockedValue { $0.calls.filter { Self.has(text, $0) } }
    }

    private static func has(_ text: String, _ call: RawServer.Request) -> Bool {
        "\(call.method) \(call.target)".hasPrefix(text) || String(decoding: call.body, as: UTF8.self).contains(text)
    }

    private func react(_ call: RawServer.Request) async -> RawServer.Reply {
        let fault = self.state.withLockedValue { state -> Fault? in
            state.calls.append(call)
            guard let text = state.faults.keys.first(where: { Self.has($0, call) }) else { return nil }
            return state.faults.removeValue(forKey: text)
        }
        do {
            switch fault {
            case .answer(let reply): return reply
            case .loseAnswer(let reply):
                _ = try await self.pass(call)
                return reply
            case nil: return try await self.pass(call)
            }
        } catch {
            // As a gateway says it; no test expects that.
            return .answer(502, body: Array("\(error)".utf8))
        }
    }

    /// With all headers, `Host` among them: the token is for the address that the app was given.
    private func pass(_ call: RawServer.Request) async throws -> RawServer.Reply {
        var request = HTTPClientRequest(url: "https://localhost:\(self.hub.port)\(call.target)")
        request.method = .init(rawValue: call.method)
        request.headers = call.headers
        request.headers.remove(name: "Content-Length")
        request.headers.remove(name: "Transfer-Encoding")
        request.body = .bytes(call.body)
        let answer = try await self.client.execute(request, timeout: .seconds(15))
        let body = Array(buffer: try await answer.body.collect(upTo: 1 << 20))
        let ofConnection = ["content-length", "transfer-encoding", "connection"]
        let headers = answer.headers.filter { !ofConnection.contains($0.name.lowercased()) }
        return .answer(Int(answer.status.code), headers.map { ($0.name, $0.value) }, body: body)
    }
}
