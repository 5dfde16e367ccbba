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
        let isReachable = await self.ask { try await self.store.check() } != nil
        let body = JSONValue.members([
            "status": .string(isReachable ? "ready" : "not ready"),
            "store": .string(isReachable ? "reachable" : "unreachable"),
            "broker": .string(broker),
        ])
        return .json(body, status: isReachable ? .ok : .serviceUnavailable)
    }

    /// `/metrics`: what was measured, and how things stand now.
    ///
    /// - Parameter countsWork: Whether to say how much is undone, which is the same whichever process says it; left out while the
    ///   store does not answer.
    /// - Returns: The answer.
    package func metrics(countsWork: Bool = false) async -> Response {
        let status = await self.broker.status
        var text = self.metricsText()
        if case .blocked = status {
            text += Self.gauge("broker_connected", 1) + Self.gauge("broker_blocked", 1)
        } else {
            text += Self.gauge("broker_connected", status == .connected ? 1 : 0) + Self.gauge("broker_blocked", 0)
        }
        if countsWork, let undone = await self.ask({ try await self.store.undone() }) {
            text += Self.gauge("pushline_unfinished_jobs", undone.jobs)
            text += Self.gauge("pushline_dead_messages", undone.dead)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }

    private static func gauge(_ name: String, _ value: Int) -> String { "# TYPE \(name) gauge\n\(name) \(value)\n" }

    /// Asks the store; nil when it fails, or does not answer in 2 seconds.
    private func ask<Value: Sendable>(_ question: @escaping @Sendable () async throws -> Value) async -> Value? {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask {
                do { return try await question() } catch { return nil }
            }
            group.addTask {
                do { try await Task.sleep(for: .seconds(2)) } catch { return nil }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
