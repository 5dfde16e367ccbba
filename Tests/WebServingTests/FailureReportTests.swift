import HTTPTypes
import Logging
import PushModel
import Store
import Testing

@testable import WebServing

@Suite struct FailureReportTests {
    private static func problem(_ error: any Error, isRepeatable: Bool) -> Problem {
        FailureReport(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            .problem(of: error, route: "/api/sends", isRepeatable: isRepeatable)
    }

    @Test func anUnknownOutcomeHasATypeOfItsOwnAndIsRepeatedWhereThatIsSafe() {
        let unknown = StoreError(.unknown, "the connection was lost")
        let errors: [any Error] = [unknown, PartlyDone(cause: unknown, done: .null)]
        for error in errors {
            for (isRepeatable, wait) in [(true, "5"), (false, nil)] {
                let problem = Self.problem(error, isRepeatable: isRepeatable)
                #expect(problem.status == .serviceUnavailable)
                #expect(problem.type == "outcome-unknown")
                #expect(problem.headers[.retryAfter] == wait)
                #expect(problem.mayBeDoneTwice == !isRepeatable)
            }
        }
    }

    /// Nothing was done.
    @Test(arguments: [StoreError.Code.unavailable, .overdue, .backlogFull])
    func allElseThatMayPassIsToBeRepeated(code: StoreError.Code) {
        let problem = Self.problem(StoreError(code, ""), isRepeatable: false)
        #expect(problem.status == .serviceUnavailable)
        #expect(problem.headers[.retryAfter] != nil && !problem.mayBeDoneTwice)
    }
}
