import PushModel
import StoreKit
import Testing

/// From which states a job goes to which, and what that counts (rule 14).
@Suite struct JobTransitionTests {
    @Test func onlyADeadLettersReplayLeavesAFinalState() {
        for transition in JobTransition.allCases where transition.steps.contains(where: \.from.isFinal) {
            #expect([.reopenForBatch, .reopenRegister, .reopenSend].contains(transition))
            #expect(transition.steps.allSatisfy { !$0.to.isFinal })
        }
    }

    @Test func nothingLeadsToAStateThatIsOnlyShown() {
        let steps = JobTransition.allCases.flatMap(\.steps)
        #expect(!steps.contains { $0.from == .retrying || $0.to == .retrying })
        // And from each state that is not final some way leads to an end.
        var open: Set<Job.State> = [.completed, .abandoned, .cancelled, .expired]
        for _ in 0..<4 { open.formUnion(steps.filter { open.contains($0.to) }.map(\.from)) }
        #expect(open.isSuperset(of: [.scheduled, .queued, .running, .cancelling, .expiring]))
    }

    @Test func whatEndsInOneStateIsCountedAsThat() {
        #expect(JobTransition.acceptAll.end == .completed)
        #expect(JobTransition.abandon.end == .abandoned)
        // It may lead to several, or to none.
        for transition in [JobTransition.complete, .finishRegister, .cancel, .page] { #expect(transition.end == nil) }
    }

    @Test func theBacklogFollowsTheStep() {
        func effect(_ transition: JobTransition, from: Job.State? = nil) -> [Int]? {
            transition.effect(from: from).map { [$0.unfinished, $0.scheduled] }
        }
        #expect(effect(.start) == [1, -1])
        #expect(effect(.page) == [0, 0])
        #expect(effect(.acceptAll) == [-1, 0])
        #expect(effect(.cancel, from: .scheduled) == [1, -1])
        #expect(effect(.cancel, from: .running) == [0, 0])
        #expect(effect(.reopenRegister) == [1, 0])
        #expect(effect(.cancel, from: .completed) == nil)
        #expect(BacklogChange(from: nil, to: .scheduled).scheduled == 1)
        #expect(BacklogChange(from: nil, to: .queued).unfinished == 1)
    }

    /// Whatever way a job goes, its steps count once up and once down.
    @Test func aStepAndTheStepBackCountNothing() {
        for (from, to) in JobTransition.allCases.flatMap(\.steps) {
            let (there, back) = (BacklogChange(from: from, to: to), BacklogChange(from: to, to: from))
            #expect(there.unfinished == -back.unfinished && there.scheduled == -back.scheduled)
        }
    }
}
