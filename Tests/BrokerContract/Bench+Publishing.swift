import Broker

extension Bench {
    func publishedArrives() async throws {
        try await self.declare()
        try await self.publish(ids: 0..<20)
        let deliveries = try await self.take(20)
        try self.expect(deliveries.ids == (0..<20).map(String.init), "Wrong order: \(deliveries.ids).")
        try self.expect(deliveries.allSatisfy { $0.deliveryCount == 0 }, "A first delivery has a count of 0.")
        try self.expect(try await self.isEmpty(), "What was acknowledged came again.")
    }

    func propertiesSurvive() async throws {
        try await self.declare()
        let headers = ["app": "default", "traceparent": "00-abc-def-01", "name": "Grüße 🎉"]
        let properties = MessageProperties(
            type: "deliver",
            messageID: "id-1",
            contentType: "application/x-batch",
            headers: headers
        )
        let body = [UInt8](0...255)
        try await self.publish([OutgoingMessage(routingKey: self.name, properties: properties, body: body)])
        let deliveries = try await self.take(1)
        try self.expect(deliveries.first?.properties == properties, "Other properties: \(deliveries).")
        try self.expect(deliveries.first?.body == body, "Another body.")
    }

    func unroutableIsReturned() async throws {
        try await self.declare()
        let results = await self.broker.publish(
            [
                self.message("0"), self.message("1", to: "\(self.name).nobody"), self.message("2"),
                self.message("3", to: "\(self.name).nobody", body: []),
            ],
            deadline: Self.timeout
        )
        let codes = results.map { result -> BrokerError.Code? in
            if case .failed(let error) = result { error.code } else { nil }
        }
        try self.expect(codes == [nil, .returned, nil, .returned], "The results are \(results).")
    }

    func hintsNeedNoQueue() async throws {
        var hint = self.message("0", to: "\(self.name).nobody")
        hint.isPersistent = false
        try await self.publish([hint])
    }

    func missingExchangeIsAFault() async throws {
        try await self.declare()
        var lost = self.message("lost")
        lost.exchange = "\(self.name).nowhere"
        let results = await self.broker.publish([lost], deadline: Self.timeout)
        guard case .failed(let error) = results.first else {
            throw BrokerContract.Violation(description: "Published to an exchange that does not exist.")
        }
        try self.expect(error.code == .notFound, "Another fault: \(error).")
        try await self.publish(ids: [1])
        try self.expect(try await self.take(1).ids == ["1"], "Publishing did not recover.")
    }

    func resultsKeepTheirOrder() async throws {
        try await self.declare()
        let messages = (0..<2500).map { self.message(String($0), to: $0 % 3 == 0 ? "\(self.name).nobody" : nil) }
        let results = await self.broker.publish(messages, deadline: Self.timeout)
        for (index, result) in results.enumerated() {
            try self.expect(result.isPublished == (index % 3 != 0), "Message \(index) is \(result).")
        }
    }

    func bodyArrives(size: Int) async throws {
        try await self.declare()
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try await self.publish([self.message("a", body: body), self.message("b", body: body)])
        let deliveries = try await self.take(2)
        try self.expect(deliveries.ids == ["a", "b"], "Came: \(deliveries.ids).")
        try self.expect(deliveries.allSatisfy { $0.body == body }, "Another body.")
    }

    func manyPublishersAtOnce() async throws {
        try await self.declare()
        try await withThrowingTaskGroup { group in
            for publisher in 0..<50 {
                group.addTask {
                    for turn in 0..<4 {
                        try await self.publish(ids: (0..<10).map { publisher * 1000 + turn * 10 + $0 })
                    }
                }
            }
            try await group.waitForAll()
        }
        let deliveries = try await self.take(2000, prefetch: 500)
        try self.expect(Set(deliveries.ids).count == 2000, "Only \(Set(deliveries.ids).count) of 2000 came.")
    }

    func eventsReachExclusiveQueues() async throws {
        let exchange = "\(self.name).events"
        let queue = Topology.Queue(name: self.name, kind: .exclusive, exchange: exchange)
        try await self.broker.declare(
            Topology(exchanges: [Topology.Exchange(name: exchange)], queues: [queue])
        )
        var event = self.message("event")
        event.exchange = exchange
        event.isPersistent = false
        var elsewhere = event
        elsewhere.routingKey = "\(self.name).other"
        try await self.publish([elsewhere, event])
        let deliveries = try await self.take(1)
        try self.expect(deliveries.ids == ["event"], "Came: \(deliveries.ids).")
    }

    func reportsReachAllQueuesOfAKey() async throws {
        let exchange = Topology.Exchange(name: "\(self.name).events")
        let benches = ["one", "two"].map { Bench(broker: self.broker, name: "\(self.name).\($0)") }
        let queues = benches.map {
            Topology.Queue(name: $0.name, kind: .exclusive, exchange: exchange.name, key: "all")
        }
        try await self.broker.declare(Topology(exchanges: [exchange], queues: queues))
        var report = self.message("report", to: "all")
        report.exchange = exchange.name
        report.isPersistent = false
        var elsewhere = self.message("elsewhere", to: queues[0].name)
        elsewhere.exchange = exchange.name
        elsewhere.isPersistent = false
        try await self.publish([elsewhere, report])
        for bench in benches {
            let deliveries = try await bench.take(1)
            try self.expect(deliveries.ids == ["report"], "Came: \(deliveries.ids).")
        }
    }
}
