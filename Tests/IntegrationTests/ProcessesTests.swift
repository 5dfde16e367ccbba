import Foundation
import InstallationSupport
import Testing

/// Which processes run, as an operator sees it.
@Suite(.serialized, .ownInstallation, .timeLimit(.minutes(3))) struct ProcessesTests {
    private struct Overview: Decodable {
        struct Processes: Decodable {
            let items: [Item]
            let isComplete: Bool
        }

        struct Item: Decodable {
            let role: String
            let state: String
            let pid: Int32
            let port: Int?
            let memory: Int?
            let inHand: Int?
        }

        let broker: String
        let processes: Processes

        func state(of pid: Int32?) -> String? { self.processes.items.first { $0.pid == pid }?.state }
    }

    private var installation: EndToEndInstallation {
        get throws { try #require(EndToEndInstallation.current) }
    }

    private func overview() async throws -> Overview {
        try await self.installation.asBackend("GET", "/api/overview").decoded()
    }

    @Test func aKilledWorkerIsGoneAndAnotherTakesItsPlace() async throws {
        let installation = try self.installation
        try await eventually("all are heard") {
            let processes = try await self.overview().processes
            return processes.isComplete && processes.items.allSatisfy { $0.state == "running" }
                && processes.items.map(\.role).sorted() == EndToEndInstallation.programs.sorted()
        }
        for item in try await self.overview().processes.items {
            #expect(item.pid == (await installation.processIdentifier(of: item.role)))
            #expect(item.port != nil && (item.memory ?? 0) > 1_000_000)
            #expect((item.inHand != nil) == (item.role != "api"))
        }
        let killed = await installation.processIdentifier(of: "delivery-worker")
        try await installation.kill("delivery-worker")
        try await eventually("it is gone") { try await self.overview().state(of: killed) == "gone" }
        try await installation.start("delivery-worker")
        let next = await installation.processIdentifier(of: "delivery-worker")
        try await eventually("the next one runs") { try await self.overview().state(of: next) == "running" }
        try await eventually("the old one is forgotten") { try await self.overview().state(of: killed) == nil }
        // One that ends in order says so.
        #expect(try await installation.terminate("send-worker") == 0)
        try await eventually("it has left") {
            try await self.overview().processes.items.allSatisfy { $0.role != "send-worker" && $0.state == "running" }
        }
        try await installation.start("send-worker")
    }

    @Test func withoutABrokerNobodyIsGone() async throws {
        let installation = try self.installation
        let node = try #require(RabbitMQTestNode.current)
        let worker = await installation.processIdentifier(of: "delivery-worker")
        try await eventually("it is heard") { try await self.overview().state(of: worker) == "running" }
        try await node.kill()
        try await eventually("nothing is known of it") {
            let overview = try await self.overview()
            let state = overview.state(of: worker)
            #expect(state == "running" || state == "unknown")
            return state == "unknown" && overview.broker == "disconnected" && !overview.processes.isComplete
        }
        let api = await installation.processIdentifier(of: "api")
        #expect(try await self.overview().state(of: api) == "running")
        try await node.startAgain()
        try await eventually("it is heard again") {
            let overview = try await self.overview()
            return overview.state(of: worker) == "running" && overview.broker == "connected"
        }
    }
}
