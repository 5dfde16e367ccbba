import BrokerRabbitMQ
import Settings
import Testing

@testable import Installation

@Suite struct HeartbeatTests {
    private func heartbeat(_ variables: [String: String]) throws -> Duration {
        let configuration = try PushlineConfiguration(file: nil, environment: variables)
        return try Composition.settings(configuration.broker).heartbeat
    }

    @Test func aClusterHasAShortOneUnlessSaidOtherwise() throws {
        let list = "amqp://u:a,b@one/v,amqp://u:a,b@two:5673/v"
        #expect(try self.heartbeat([:]) == .seconds(20))
        #expect(try self.heartbeat(["PUSHLINE_BROKER_URL": list]) == .seconds(5))
        #expect(
            try self.heartbeat(["PUSHLINE_BROKER_URL": list, "PUSHLINE_BROKER_HEARTBEAT": "7"]) == .seconds(7)
        )
    }
}
