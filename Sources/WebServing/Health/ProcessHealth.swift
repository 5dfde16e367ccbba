package import Broker
import HTTPTypes
package import Hummingbird
import NIOCore
import PushModel
import PushlineMetrics
package import Store

/// The health endpoints of a process of any role.
///
/// They need no authentication, so costly parts are computed once a second for all clients.
package struct ProcessHealth: Sendable {
    private let version: String
    private let broker: any MessageBroker
    private let isReachable: SharedCopy<Bool>
    private let measured: SharedCopy<ByteBuffer>
    /// The queues are read less often, because that may take the store 50 ms.
    private static let queuesEvery = Duration.seconds(10)

    /// - Parameters:
    ///   - version: Of the program.
    ///   - store: Without it nothing can be done.
    ///   - broker: Without it everything is done later.
    ///   - countsWork: Whether `/metrics` has the state of queues and store, which is the same in every process.
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
        self.isReachable = SharedCopy { await Self.ask { try await store.state() } != nil }
        let queues = SharedCopy(lifetime: Self.queuesEvery) {
            await Self.ask { try await store.queues(of: nil) }.map(Self.text) ?? ""
        }
        self.measured = SharedCopy {
            var text = metricsText() + Self.text(of: await broker.status)
            if countsWork {
                if let state = await Self.ask({ try await store.state() }) { text += Self.text(of: state) }
                text += await queues.value() ?? ""
            }
            return ByteBuffer(string: text)
        }
    }

    /// `/healthz`: the process runs.
    package func health() -> Response {
        .json(.members(["status": .string("ok"), "version": .string(self.version)]))
    }

    /// `/readyz`: 200 while the store can be reached; a broker that is down delays and is reported (rule 19).
    package func readiness() async -> Response {
        guard let isReachable = await self.isReachable.value() else { return Self.tooMany }
        let body = JSONValue.members([
            "status": .string(isReachable ? "ready" : "not ready"),
            "store": .string(isReachable ? "reachable" : "unreachable"),
            "broker": .string(await self.broker.status.word),
        ])
        return .json(body, status: isReachable ? .ok : .serviceUnavailable)
    }

    /// `/metrics`: everything measured, and the state now; that of queues and store is left out while the store does not answer.
    package func metrics() async -> Response {
        guard let text = await self.measured.value() else { return Self.tooMany }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
            body: ResponseBody(byteBuffer: text)
        )
    }

    private static var tooMany: Response {
        Problem.later(.serviceUnavailable, "too many concurrent requests of this kind", seconds: 1).response()
    }

    private static func text(of broker: BrokerStatus) -> String {
        let (isConnected, isBlocked) =
            switch broker {
            case .connected: (true, false)
            case .blocked: (true, true)
            case .connecting, .disconnected: (false, false)
            }
        return MetricDescription.brokerConnected.text(isConnected ? 1 : 0)
            + MetricDescription.brokerBlocked.text(isBlocked ? 1 : 0)
    }

    private static func text(of state: StoreState) -> String {
        var text =
            MetricDescription.unfinishedJobs.text(Double(state.jobs))
            + MetricDescription.deadLetters.text(Double(state.dead))
        if let space = state.room.space {
            text +=
                MetricDescription.storeBytes.text(Double(space.store))
                + MetricDescription.storeLogBytes.text(Double(space.log))
                + MetricDescription.storeFreeBytes.text(Double(space.free))
        }
        if let backup = state.room.backup {
            text += MetricDescription.backupTime.text(Double(backup.milliseconds) / 1000)
        }
        return text
    }

    private static func text(of queues: [WorkQueue: QueueLoad]) -> String {
        let loads = WorkQueue.allCases.map { ($0.description, queues[$0] ?? QueueLoad()) }
        return MetricDescription.queueJobs.text(loads.map { ([.queue: $0], Double($1.members)) })
            + MetricDescription.queueOldest.text(loads.map { ([.queue: $0], $1.oldest.inSeconds) })
    }

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
