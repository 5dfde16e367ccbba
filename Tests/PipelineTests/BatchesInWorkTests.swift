import PushModel
import Store
import Testing

@testable import Pipeline

/// What is noted of batches in work, and forgotten with them (rules 3 and 13).
@Suite struct BatchesInWorkTests {
    private let inWork = BatchesInWork()
    private let batches = (0..<3).map { _ in
        DeliverBatch(
            app: .default,
            key: BatchKey(job: .make(), pns: .apns, page: 0, attempt: 0),
            priority: .normal,
            expires: .now,
            keepUntil: nil,
            collapse: nil,
            payload: NativePayload(kind: .alert, body: []),
            devices: DeliverBatch.Devices()
        )
    }
    private var keys: [BatchKey] { self.batches.map(\.key) }

    private func begin(_ standings: [BatchStanding]) -> [Int] {
        self.inWork.begin(self.batches, standings: standings.map { PlacedStanding($0) })
    }

    @Test func whatIsOpenAndNotInWorkIsBegun() {
        #expect(self.begin([.open, .closed, .stopping(.expired)]) == [0, 2])
        #expect(Set(self.inWork.keys) == [self.keys[0], self.keys[2]])
        #expect(self.inWork.stopCause(of: self.keys[0]) == nil)
        #expect(self.inWork.stopCause(of: self.keys[2]) == .expired)
        #expect(self.begin([.open, .open, .open]) == [1])
        // The one that is in work already is as it was.
        #expect(self.inWork.stopCause(of: self.keys[2]) == .expired)
    }

    @Test func aStopIsSeenUntilItsBatchEnds() {
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        #expect(!self.inWork.isAnyStopped(of: self.keys))
        for _ in 0..<2 { self.inWork.note(.stopping(.cancelled), of: self.keys[1]) }
        #expect(self.inWork.isAnyStopped(of: self.keys))
        #expect(!self.inWork.isAnyStopped(of: [self.keys[0], self.keys[2]]))
        _ = self.inWork.end([self.keys[0]])
        #expect(self.inWork.stopCause(of: self.keys[1]) == .cancelled)
        _ = self.inWork.end([self.keys[1], self.keys[1]])
        #expect(!self.inWork.isAnyStopped(of: self.keys))
        #expect(self.inWork.stopCause(of: self.keys[1]) == nil)
        // Begun anew, it does not remember.
        #expect(self.begin([.open, .open, .closed]) == [0, 1])
        #expect(!self.inWork.isAnyStopped(of: self.keys))
    }

    @Test func whatSomebodyElseHasClosedIsStopped() {
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        self.inWork.note(.closed, of: self.keys[0])
        #expect(self.inWork.stopCause(of: self.keys[0]) == .cancelled)
        self.inWork.note(.stopping(.expired), of: self.keys[1])
        self.inWork.note(.closed, of: self.keys[1])
        #expect(self.inWork.stopCause(of: self.keys[1]) == .expired)
    }

    @Test func whatIsNotInWorkIsNotNoted() {
        self.inWork.note(.stopping(.cancelled), of: self.keys[0])
        #expect(self.inWork.stopCause(of: self.keys[0]) == nil)
        #expect(self.begin([.open, .open, .open]) == [0, 1, 2])
        #expect(!self.inWork.isAnyStopped(of: self.keys))
    }
}
