package import Broker
import HTTPTypes
package import Hummingbird
import NIOCore
import PushModel
package import Store

/// How a process is: what it answers machines that ask, whichever process it is.
///
/// Needs no authentication, so what costs something is computed once a second for all clients.
package struct ProcessHealth: Sendable {
    private let version: String
    private let broker: any MessageBroker
    private let isReachable: SharedCopy<Bool>
    private let measured: SharedCopy<ByteBuffer>

    /// - Parameters:
    ///   - version: Of the program.
    ///   - store: Without it nothing can be done.
    ///   - broker: Without it everything is done later.
    ///   - countsWork: Whether `/metrics` has the sizes of the backlog, which are the same in every process.
    ///   - metricsText: Everything that was measured, in Prometheus' text format.
    package init(
        version: String,
        store: any StoreHealth,
        broker: any MessageBroker,
        countsWork: Bool = false,
        metricsText: @escaping @Sendable () -> String
    ) {
        self.version = version
        self.broker = broker
        self.isReachable = SharedCopy { await Self.ask { try await store.backlog() } != nil }
        self.measured = SharedCopy {
            let backlog = countsWork ? await Self.ask { try await store.backlog() } : nil
            return ByteBuffer(string: metricsText() + Self.gauges(await broker.status, backlog))
        }
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
        guard let isReachable = await self.isReachable.value() else { return Self.tooMany }
        let body = JSONValue.members([
            "status": .string(isReachable ? "ready" : "not ready"),
            "store": .string(isReachable ? "reachable" : "unreachable"),
            "broker": .string(broker),
        ])
        return .json(body, status: isReachable ? .ok : .serviceUnavailable)
    }

    /// `/metrics`: everything measured, and the state now; the sizes of the backlog are left out while the store does not answer.
    package func metrics() async -> Response {
        guard let text = await self.measured.value() else { return Self.tooMany }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: text)
        )
    }

    private static var tooMany: Response {
        Problem.later(.serviceUnavailable, "too many requests for this at once", seconds: 1).response()
    }

    private static func gauges(_ broker: BrokerStatus, _ backlog: Backlog?) -> String {
        var text = ""
        if case .blocked = broker {
            text += Self.gauge("broker_connected", 1) + Self.gauge("broker_blocked", 1)
        } else {
            text += Self.gauge("broker_connected", broker == .connected ? 1 : 0) + Self.gauge("broker_blocked", 0)
        }
        if let backlog {
            text += Self.gauge("pushline_unfinished_jobs", backlog.jobs)
            text += Self.gauge("pushline_dead_messages", backlog.dead)
        }
        return text
    }

    private static func gauge(_ name: String, _ value: Int) -> String { "# TYPE \(name) gauge\n\(name) \(value)\n" }

    /// Asks the store; nil when it fails, or does not answer in 2 seconds.
    private static func ask<Value: Sendable>(
        _ question: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
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
