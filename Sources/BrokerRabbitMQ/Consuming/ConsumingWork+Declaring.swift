import Broker
import Logging

/// Declaring, and asking for depths: requests that are waited for, on a channel of their own.
extension ConsumingWork {
    mutating func declare(
        _ topology: Topology,
        _ connection: AMQPConnection,
        _ continuation: CheckedContinuation<Void, any Error>
    ) throws(BrokerError) {
        do throws(AMQPFailure) {
            try self.request(topology, connection)
            self.mailbox.remember(topology)
            continuation.resume()
        } catch {
            continuation.resume(throwing: error.brokerError)
            try self.reopenControl(after: error, connection)
        }
    }

    /// Declares the topology; what exists with other arguments, or cannot be declared in time, is left out.
    mutating func declareAgain(_ topology: Topology, _ connection: AMQPConnection) throws(BrokerError) {
        do throws(AMQPFailure) {
            try self.request(topology, connection)
        } catch {
            // An exclusive queue is locked until the broker has noticed the end of our old connection.
            if case .channel(let exception) = error, exception.code == ServerException.resourceLocked {
                throw error.brokerError
            }
            try self.reopenControl(after: error, connection)
            self.logger.warning("A queue cannot be declared", metadata: ["error": "\(error.brokerError)"])
        }
    }

    mutating func measure(
        _ queue: String,
        _ connection: AMQPConnection,
        _ continuation: CheckedContinuation<QueueDepth, any Error>
    ) throws(BrokerError) {
        do throws(AMQPFailure) {
            continuation.resume(returning: try connection.depth(of: queue, channel: self.control))
        } catch {
            continuation.resume(throwing: error.brokerError)
            try self.reopenControl(after: error, connection)
        }
    }

    mutating func openControl(_ connection: AMQPConnection) throws(BrokerError) {
        let channel = try self.numbers.take()
        try Self.required { () throws(AMQPFailure) in try connection.openChannel(channel) }
        self.control = channel
    }

    /// Opens another channel where a request has cost this one.
    private mutating func reopenControl(
        after failure: AMQPFailure,
        _ connection: AMQPConnection
    ) throws(BrokerError) {
        switch failure {
        case .connection(let error): throw error
        case .timeout: try connection.endChannel(self.control)
        case .channel:
            try connection.confirmChannelClosed(self.control)
            self.numbers.free(self.control)
        }
        try self.openControl(connection)
    }

    private func request(_ topology: Topology, _ connection: AMQPConnection) throws(AMQPFailure) {
        for exchange in topology.exchanges {
            try connection.declareExchange(exchange, channel: self.control)
        }
        for queue in topology.queues {
            try connection.declareQueue(queue, channel: self.control)
            if let exchange = queue.exchange {
                try connection.bind(queue, to: exchange, channel: self.control)
            }
        }
    }

    /// For requests without which the connection is of no use.
    static func required(_ request: () throws(AMQPFailure) -> Void) throws(BrokerError) {
        do throws(AMQPFailure) {
            try request()
        } catch {
            throw error.brokerError
        }
    }
}

extension AMQPFailure {
    /// The failure as callers see it; the broker's words name the queue and the argument.
    var brokerError: BrokerError {
        switch self {
        case .connection(let error), .timeout(let error): error
        case .channel(let exception):
            switch exception.channelFault {
            case .mismatch: BrokerError(.mismatch, "It exists with other arguments: \(exception.text).")
            case let code: BrokerError(code, "The broker refuses it: \(exception.text).")
            }
        }
    }
}
