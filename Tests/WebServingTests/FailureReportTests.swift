import HTTPTypes
import Logging
import Store
import Testing

@testable import WebServing

@Suite struct FailureReportTests {
    @Test func anUnknownOutcomeHasATypeOfItsOwn() throws {
        let problem = FailureReport(logger: Logger(label: "test")).problem(
            of: StoreError(.unknown, "the connection was lost"),
            route: "/api/sends"
        )
        #expect(problem.status == .serviceUnavailable)
        #expect(problem.type == "outcome-unknown")
        #expect(problem.headers[.retryAfter] == "5")
    }
}
