import Broker
import PushModel
import Store
import Testing
import Undisturbed

@testable import Pipeline

/// What is noted of messages and batches in progress, and forgotten with them (rules 3 and 13).
@Suite(.undisturbed) struct BatchesInProgressTests {
    private struct Silent: Subscription {
        func next() async throws -> Delivery? { nil }
        func acknowledge(_ deliveries: [Delivery]) async {}
        func isCurrent(_ delivery: Delivery) -> Bool { true }
        func stop() async {}
    }

    private let inProgress = BatchesInProgress()
    private let keys = (0..<3).map { _ in BatchKey(job: .make(), pns: .apns, page: 0, attempt: 0) }
    private let first = MessageID(number: 1)
    private let second = MessageID(number: 2)

    private func delivery(_ id: MessageID, tag: UInt64 = 0) -> Delivery {
        let properties = MessageProperties(type: "deliver", messageID: "\(id)", contentType: "x")
        return Delivery(tag: tag, generation: 0, properties: properties, body: [], deliveryCount: 0)
    }

    private func begin(_ id: MessageID) -> Bool { self.inProgress.begin(id, self.delivery(id), Silent()) }

    /// Begins the first message with all its batches.
    private func begin(_ statuses: [BatchStatus]) -> [Int] {
        guard self.begin(self.first) else { return [] }
        return self.inProgress.begin(self.keys, statuses.map { LocatedStatus($0) }, of: self.first)
    }

    @Test func openAndStoppingBatchesAreBegun() {
        #expect(self.begin([.open, .closed, .stopping(.expired)]) == [0, 2])
        #expect(Set(self.inProgress.keys) == [self.keys[0], self.keys[2]])
        #expect(self.inProgress.stopCause(of: self.keys[0]) == nil)
        #expect(self.inProgress.stopCause(of: self.keys[2]) == .expired)
        let ended = self.inProgress.end(self.first, isDone: true)
        #expect(ended.map(\.message) == [self.first])
        #expect(self.inProgress.keys.isEmpty)
        #expect(!self.inProgress.isAnyStopped(of: self.keys))
    }

    @Test func aRedeliveryJoinsItsMessage() {
        #expect(!self.inProgress.join(self.first, self.delivery(self.first), Silent()))
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        #expect(self.inProgress.join(self.first, self.delivery(self.first, tag: 7), Silent()))
        #expect(!self.begin(self.first))
        let ended = self.inProgress.end(self.first, isDone: true)
        #expect(ended.map { $0.deliveries.map(\.0.tag) } == [[0, 7, 0]])
        #expect(!self.inProgress.join(self.first, self.delivery(self.first), Silent()))
    }

    @Test(arguments: [true, false]) func aMessageWaitsForItsBatchInProgressUnderAnother(isDone: Bool) {
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        #expect(self.begin(self.second))
        #expect(self.inProgress.begin([self.keys[1]], [LocatedStatus(.open)], of: self.second).isEmpty)
        // Its worker is done with it, the batch is not.
        #expect(self.inProgress.end(self.second, isDone: true).isEmpty)
        #expect(self.inProgress.join(self.second, self.delivery(self.second, tag: 9), Silent()))
        let ended = self.inProgress.end(self.first, isDone: isDone)
        #expect(ended.map(\.message) == [self.second, self.first])
        #expect(ended.map(\.isIncomplete) == [!isDone, false])
        #expect(ended[0].deliveries.map(\.0.tag) == [0, 9])
    }

    @Test func aMessageEndsAfterItsOwnWorkAndItsSharedBatches() {
        #expect(self.begin([.open, .open, .closed]) == [0, 1])
        #expect(self.begin(self.second))
        let located = [LocatedStatus(.open), LocatedStatus(.open)]
        #expect(self.inProgress.begin([self.keys[1], self.keys[2]], located, of: self.second) == [1])
        #expect(self.inProgress.end(self.first, isDone: false).map(\.message) == [self.first])
        let ended = self.inProgress.end(self.second, isDone: true)
        #expect(ended.map(\.message) == [self.second])
        // What it waited for came to no end.
        #expect(ended.map(\.isIncomplete) == [true])
        #expect(self.inProgress.keys.isEmpty)
    }

    @Test func aBatchTwiceInAMessageEndsWithTheMessage() {
        #expect(self.begin(self.first))
        let keys = [self.keys[0], self.keys[0]]
        #expect(self.inProgress.begin(keys, [LocatedStatus(.open), LocatedStatus(.open)], of: self.first) == [0])
        #expect(self.inProgress.end(self.first, isDone: true).map(\.message) == [self.first])
        #expect(self.inProgress.keys.isEmpty)
    }

    @Test func aStopIsSeenUntilItsBatchEnds() {
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        #expect(!self.inProgress.isAnyStopped(of: self.keys))
        for _ in 0..<2 { self.inProgress.note(.stopping(.cancelled), of: self.keys[1]) }
        #expect(self.inProgress.isAnyStopped(of: self.keys))
        #expect(!self.inProgress.isAnyStopped(of: [self.keys[0], self.keys[2]]))
        #expect(self.inProgress.stopCause(of: self.keys[1]) == .cancelled)
        _ = self.inProgress.end(self.first, isDone: true)
        #expect(!self.inProgress.isAnyStopped(of: self.keys))
        #expect(self.inProgress.stopCause(of: self.keys[1]) == nil)
        // Begun anew, it does not remember.
        #expect(self.begin([.open, .open, .closed]) == [0, 1])
        #expect(!self.inProgress.isAnyStopped(of: self.keys))
    }

    @Test func batchesClosedElsewhereAreStopped() {
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        self.inProgress.note(.closed, of: self.keys[0])
        #expect(self.inProgress.stopCause(of: self.keys[0]) == .cancelled)
        self.inProgress.note(.stopping(.expired), of: self.keys[1])
        self.inProgress.note(.closed, of: self.keys[1])
        #expect(self.inProgress.stopCause(of: self.keys[1]) == .expired)
    }

    @Test func aStopOfABatchNotInProgressIsIgnored() {
        self.inProgress.note(.stopping(.cancelled), of: self.keys[0])
        #expect(self.inProgress.stopCause(of: self.keys[0]) == nil)
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        #expect(!self.inProgress.isAnyStopped(of: self.keys))
    }
}
