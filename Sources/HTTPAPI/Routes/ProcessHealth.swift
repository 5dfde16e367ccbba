package import Broker
import HTTPTypes
package import Hummingbird
import NIOCore
package import Store

/// How a process is: what it answers machines that ask, whichever process it is.
package struct ProcessHealth: Sendable {
    private let version: String
    private let store: any StoreHealth
    private let broker: any MessageBroker
    private let metricsText: @Sendable () -> String

    /// - Parameters:
    ///   - version: Of the program.
    ///   - store: Without it nothing can be done.
    ///   - broker: Without it everything is done later.
    ///   - metricsText: Everything that was measured, in Prometheus' text format.
    package init(
        version: String,
        store: any StoreHealth,
        broker: any MessageBroker,
        metricsText: @escaping @Sendable () -> String
    ) {
        self.version = version
        self.store = store
        self.broker = broker
        self.metricsText = metricsText
    }

    /// `/healthz`: the process runs.
    package func health() -> Response {
        .json(.members(["status": .string("ok"), "version": .string(self.version)]))
    }

    /// `/readyz`: 200 while the store can be reached; a broker that is down delays and is reported (rule 19).
    package func readiness() async -> Response {
        let broker =
            switch await self.broker.status {
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

    /// `/metrics`.
    package func metrics() -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: self.metricsText()))
        )
    }

    private func storeAnswers() async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    try await self.store.check()
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
}
