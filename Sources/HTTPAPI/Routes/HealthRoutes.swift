import Broker
import HTTPTypes
import Hummingbird
import NIOCore
import Store

/// How the process is, for machines: open to anybody.
struct HealthRoutes: Sendable {
    let context: RouteContext

    var routes: [Route] {
        [
            Route(.get, "/healthz", access: .open, handler: self.health),
            Route(.get, "/readyz", access: .open, handler: self.readiness),
            Route(.get, "/metrics", access: .open, handler: self.metrics),
            Route(.get, "/openapi.yaml", access: .open, handler: self.document),
        ]
    }

    private func health(_ request: APIRequest) -> Response {
        .json(.members(["status": .string("ok"), "version": .string(self.context.configuration.version)]))
    }

    /// 200 while the store can be reached; a broker that is down delays and is reported (rule 19).
    private func readiness(_ request: APIRequest) async -> Response {
        let broker =
            switch await self.context.broker.status {
            case .connected: "connected"
            case .blocked: "blocked"
            case .disconnected: "disconnected"
            }
        let isReachable = await self.storeAnswers()
        let body = JSONValue.members([
            "status": .string(isReachable ? "ready" : "not ready"),
            "store": .string(isReachable ? "reachable" : "unreachable"),
            "broker": .string(broker),
        ])
        return .json(body, status: isReachable ? .ok : .serviceUnavailable)
    }

    private func storeAnswers() async -> Bool {
        let store = self.context.store
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    try await store.check()
                    return true
                } catch {
                    return false
                }
            }
            group.addTask {
                do { try await Task.sleep(for: .seconds(2)) } catch { return false }
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }

    private func metrics(_ request: APIRequest) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: self.context.metricsText()))
        )
    }

    private func document(_ request: APIRequest) -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/yaml"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: PackageResources.openapi_yaml))
        )
    }
}
