import Broker

extension Bench {
    func endedConsumerGivesBack() async throws {
        try await self.declare()
        try await self.publish(ids: 0..<3)
        let first = try await self.take(3, acknowledging: false)
        let second = try await self.take(3, acknowledging: false)
        let third = try await self.take(3)
        try self.expect(first.ids == second.ids && second.ids == third.ids, "Not the same messages came again.")
        try self.expect(first.allSatisfy { $0.deliveryCount == 0 }, "The first time counts 0.")
        try self.expect(second.allSatisfy { $0.deliveryCount == 1 }, "The second time counts 1.")
        try self.expect(third.allSatisfy { $0.deliveryCount == 2 }, "The third time counts 2.")
    }

    func prefetchBounds() async throws {
        try await self.declare()
        try await self.publish(ids: 0..<10)
        try await self.inTime {
            try await self.broker.consume(queue: self.name, prefetch: 3) { subscription in
                var held: [Delivery] = []
                for _ in 0..<3 {
                    if let delivery = try await subscription.next() { held.append(delivery) }
                }
                try self.expect(held.count == 3, "Only \(held.count) came.")
                try self.expect(try await self.isSilent(subscription), "A fourth came before an acknowledgement.")
                await subscription.acknowledge(Array(held.prefix(1)))
                let fourth = try await subscription.next()
                try self.expect(
                    fourth?.properties.messageID == "3",
                    "After an acknowledgement came \(fourth.debugDescription)."
                )
            }
        }
    }

    func stopGivesBack() async throws {
        try await self.declare()
        try await self.publish(ids: 0..<10)
        try await self.inTime {
            try await self.broker.consume(queue: self.name, prefetch: 10) { subscription in
                guard let first = try await subscription.next() else { return }
                await subscription.stop()
                let after = try await subscription.next()
                try self.expect(after == nil, "After stopping came \(after.debugDescription).")
                // The nine come back at once, while the first is still being worked on.
                let others = try await self.take(9)
                try self.expect(others.ids == (1..<10).map(String.init), "Others got \(others.ids).")
                await subscription.acknowledge([first])
            }
        }
        try self.expect(try await self.isEmpty(), "What was acknowledged after stopping came again.")
    }

    func acknowledgingOutOfOrder() async throws {
        try await self.declare()
        try await self.publish(ids: 0..<30)
        try await self.inTime {
            try await self.broker.consume(queue: self.name, prefetch: 30) { subscription in
                var held: [Delivery] = []
                for _ in 0..<30 {
                    if let delivery = try await subscription.next() { held.append(delivery) }
                }
                let groups = [[7], [0, 1, 2], [29, 3], [8, 9, 10], [4, 5, 6], [11, 28, 13]]
                for group in groups { await subscription.acknowledge(group.map { held[$0] }) }
            }
        }
        let left = try await self.take(15).ids
        let expected = ([12] + (14..<28)).map(String.init)
        try self.expect(left == expected, "Left are \(left).")
        try self.expect(try await self.isEmpty(), "More is left.")
    }

    func doubleAcknowledgementIsHarmless() async throws {
        try await self.declare()
        try await self.publish(ids: 0..<4)
        try await self.inTime {
            try await self.broker.consume(queue: self.name, prefetch: 2) { subscription in
                for expected in 0..<4 {
                    guard let delivery = try await subscription.next() else { return }
                    try self.expect(delivery.properties.messageID == String(expected), "Came \(delivery).")
                    await subscription.acknowledge([delivery])
                    await subscription.acknowledge([delivery, delivery])
                }
            }
        }
        try self.expect(try await self.isEmpty(), "Something came again.")
    }

    func deliveriesOfOtherConnectionsAreVoid() async throws {
        try await self.declare()
        try await self.publish(ids: [1])
        try await self.inTime {
            try await self.broker.consume(queue: self.name, prefetch: 2) { subscription in
                guard let delivery = try await subscription.next() else { return }
                try self.expect(subscription.isCurrent(delivery), "What came just now is void.")
                let earlier = Delivery(
                    tag: delivery.tag,
                    generation: delivery.generation - 1,
                    properties: delivery.properties,
                    body: delivery.body,
                    deliveryCount: 0
                )
                try self.expect(!subscription.isCurrent(earlier), "What came over an earlier connection is not void.")
                await subscription.acknowledge([earlier])
                try self.expect(subscription.isCurrent(delivery), "It is void before it is acknowledged.")
            }
        }
        try self.expect(try await self.take(1).ids == ["1"], "It was acknowledged over another connection.")
    }

    func declaringTwice() async throws {
        try await self.declare()
        try await self.publish(ids: [1])
        try await self.declare()
        try self.expect(try await self.take(1).ids == ["1"], "Declaring again has emptied the queue.")
    }

    func otherArgumentsMismatch() async throws {
        try await self.declare()
        let other = Topology.Queue(
            name: self.name,
            kind: .quorum(deadLetterQueue: "\(self.name).dead", deliveryLimit: 3)
        )
        do {
            try await self.broker.declare(Topology(queues: [other]))
        } catch let error as BrokerError {
            try self.expect(error.code == .mismatch, "Another fault: \(error).")
            try self.expect(error.message.contains(self.name), "The fault does not name the queue: \(error).")
            try await self.declaringTwice()
            return
        }
        throw BrokerContract.Violation(description: "A queue was declared with other arguments.")
    }

    func missingQueueIsRefused() async throws {
        do {
            _ = try await self.take(1)
        } catch let error as BrokerError {
            try self.expect(error.code == .notFound, "Another fault: \(error).")
            return
        }
        throw BrokerContract.Violation(description: "A queue that does not exist was consumed.")
    }

    func depthIsTold() async throws {
        do {
            _ = try await self.broker.depth(of: self.name)
            throw BrokerContract.Violation(description: "A queue that does not exist has a depth.")
        } catch let error as BrokerError {
            try self.expect(error.code == .notFound, "Another fault: \(error).")
        }
        try await self.declare()
        try await self.publish(ids: 0..<3)
        // The broker counts a moment after it confirms.
        try await self.inTime {
            while try await self.broker.depth(of: self.name) != QueueDepth(ready: 3, consumers: 0) {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        // Asking takes nothing away.
        try self.expect(try await self.take(3).count == 3, "Messages are missing.")
    }

    func consumersShareAQueue() async throws {
        try await self.declare()
        try await withThrowingTaskGroup(of: [Delivery].self) { group in
            for _ in 0..<3 { group.addTask { try await self.take(10, prefetch: 1) } }
            try await self.publish(ids: 0..<30)
            var ids: [String] = []
            for try await deliveries in group { ids += deliveries.ids }
            try self.expect(Set(ids).count == 30, "The consumers got \(ids.sorted()).")
        }
    }

    func cancellationEndsNext() async throws {
        try await self.declare()
        let wasCancelled = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    _ = try await self.take(1)
                    return false
                } catch {
                    return error is CancellationError
                }
            }
            try? await Task.sleep(for: .milliseconds(100))
            group.cancelAll()
            return await group.next() ?? false
        }
        try self.expect(wasCancelled, "next() does not end by cancellation.")
    }
}
