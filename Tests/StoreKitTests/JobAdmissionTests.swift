import PushModel
import Store
import StoreKit
import Testing

/// What comes of new jobs, without a store (rules 12, 15, 17 and 19).
@Suite struct JobAdmissionTests {
    private static let wall = Timestamp(milliseconds: 1_800_000_000_000)

    private func job(
        small isSmall: Bool = true,
        key: String? = nil,
        hash: UInt8 = 0,
        startsIn delay: Duration? = nil,
        priority: Priority = .normal
    ) throws -> NewJob {
        let tag = TagExpression.tag(try Tag("t", .folded))
        let others = TagExpression.any([tag, .tag(try Tag("u", .folded))])
        return NewJob(
            app: .default,
            priority: priority,
            work: .send(SendRequest(to: .tags(isSmall ? tag : others), content: .message(.init(body: "b")))),
            lifetime: .seconds(60),
            idempotency: key.map { .init(caller: "c", route: "r", key: $0, hash: [hash]) },
            startsAt: delay.map { Self.wall.advanced(by: $0) }
        )
    }

    private func admission(
        _ jobs: [NewJob],
        joining: JobAdmission.Joinable? = nil,
        room: Int = 100,
        earlier: [Int: JobAdmission.Earlier] = [:],
        limit: (backlog: Int, unfinished: Int, scheduled: Int)? = nil
    ) -> JobAdmission {
        var admission = JobAdmission(
            count: jobs.count,
            wall: Self.wall,
            window: InFlightWindow(jobMessages: room),
            joining: joining
        )
        if let limit {
            admission.limit(to: limit.backlog, unfinished: limit.unfinished, scheduled: limit.scheduled)
        }
        for (index, job) in jobs.enumerated() {
            admission.decide(on: job, at: index, earlier: earlier[index], underWay: nil) { _, _ in
                JobLoad(inFlight: 0, waiting: 0)
            }
        }
        return admission
    }

    @Test func smallSendsShareAMessageAndOthersHaveTheirOwn() throws {
        let jobs = try [true, false, true, false].map { try self.job(small: $0) }
        let admission = self.admission(jobs)
        #expect(admission.jobs.map(\.message) == [0, 1, 0, 2])
        #expect(admission.messages.map(\.members) == [0...2, 1...1, 3...3])
        #expect(admission.messages.map(\.count) == [2, 1, 1])
        #expect(admission.messages.allSatisfy { $0.state == .ready && $0.joined == nil && $0.queue == .send })
    }

    @Test func prioritiesShareNoMessage() throws {
        let admission = self.admission(try [.high, .normal].map { try self.job(priority: $0) })
        #expect(admission.messages.map(\.priority) == [.high, .normal])
    }

    @Test func smallSendsJoinAMessageThatHasRoom() throws {
        let jobs = [try self.job(), try self.job()]
        let joined = self.admission(jobs, joining: .init(id: 7, priority: .normal, members: 498), room: 0)
        #expect(joined.messages.map(\.joined) == [7])
        #expect(joined.messages.map(\.count) == [2])
        let full = self.admission(jobs, joining: .init(id: 7, priority: .normal, members: 499))
        #expect(full.messages.map(\.joined) == [nil])
        let other = self.admission(jobs, joining: .init(id: 7, priority: .high, members: 1))
        #expect(other.messages.map(\.joined) == [nil])
    }

    @Test func aFullWindowDefersMessages() throws {
        let jobs = try (0..<3).map { _ in try self.job(small: false) }
        #expect(self.admission(jobs, room: 2).messages.map(\.state) == [.ready, .ready, .deferred])
    }

    @Test func presentAndLaterJobsHaveLimitsOfTheirOwn() throws {
        let jobs = try [nil, nil, .seconds(9), .seconds(9)].map { try self.job(startsIn: $0) }
        let admission = self.admission(jobs, limit: (backlog: 5, unfinished: 4, scheduled: 9))
        #expect(admission.jobs.map(\.index) == [0])
        #expect(admission.refusals == [1: .backlogFull, 2: .backlogFull, 3: .backlogFull])
        let later = self.admission(jobs, limit: (backlog: 5, unfinished: 9, scheduled: 4))
        #expect(later.jobs.map(\.index) == [2])
        #expect(later.jobs.map(\.state) == [.scheduled])
        #expect(later.messages.isEmpty)
    }

    @Test func aStartInThePastIsNow() throws {
        #expect(self.admission([try self.job(startsIn: .zero)]).jobs.map(\.state) == [.queued])
    }

    @Test func aKeyIsUsedOnce() throws {
        let before = JobID.make()
        let jobs = [
            try self.job(key: "a", hash: 1), try self.job(key: "a", hash: 2), try self.job(key: "b", hash: 1),
            try self.job(key: "b", hash: 1), try self.job(key: "b", hash: 2), try self.job(key: "c"),
        ]
        let earlier = JobAdmission.Earlier(hash: [1], job: before)
        let admission = self.admission(jobs, earlier: [0: earlier, 1: earlier])
        #expect(admission.jobs.map(\.index) == [2, 5])
        // Of those that came together the first counts.
        #expect(
            admission.refusals == [0: .repeated(before), 1: .keyReused, 3: .repeated(jobs[2].id), 4: .keyReused]
        )
    }

    /// What was refused for want of room leaves its key free.
    @Test func aRefusedJobUsesNoKey() throws {
        let jobs = [try self.job(key: "a"), try self.job(key: "a")]
        let admission = self.admission(jobs, limit: (backlog: 0, unfinished: 0, scheduled: 0))
        #expect(admission.refusals == [0: .backlogFull, 1: .backlogFull])
    }

    @Test func aRemovalThatIsUnderWayIsNotBegunAgain() throws {
        let underWay = JobID.make()
        var admission = JobAdmission(count: 1, wall: Self.wall, window: InFlightWindow())
        let job = NewJob(
            app: .default,
            work: .register(.removeUser(try UserName("ann", .folded), withAccount: false)),
            lifetime: .seconds(60)
        )
        admission.decide(on: job, at: 0, earlier: nil, underWay: underWay) { _, _ in JobLoad(inFlight: 0, waiting: 0) }
        #expect(admission.jobs.isEmpty)
        #expect(admission.refusals == [0: .repeated(underWay)])
    }
}
