import BrokerRabbitMQ
import Settings
import Testing

@testable import Installation

@Suite struct BrokerAddressTests {
    /// So that processes spread over the nodes, and one that is away is not everybody's first.
    @Test func eachProcessHasAnOrderOfItsOwn() throws {
        let hosts = (1...8).map { "node\($0)" }
        let list = hosts.map { "amqp://u:p@\($0)/v" }.joined(separator: ",")
        let configuration = try PushlineConfiguration(file: nil, environment: ["PUSHLINE_BROKER_URL": list])
        // By chance alone twenty are never alike.
        let orders = try (0..<20).map { _ in try Composition.settings(configuration.broker).addresses.map(\.host) }
        #expect(orders.allSatisfy { $0.sorted() == hosts })
        #expect(Set(orders).count > 1)
    }
}
