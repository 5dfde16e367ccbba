import ArgumentParser
import PushModel
import PushlineClient
import Testing

@testable import PushlineCommands

/// The client knows nothing of the model, so its list is its own.
@Suite struct PushServiceListTests {
    @Test func theClientKnowsTheSameServices() {
        #expect(PushNotification.Service.allCases.map(\.rawValue) == PushService.allCases.map(\.rawValue))
    }

    @Test func theHelpNamesThem() {
        let words = PushlineCommand.helpMessage(for: RegistrationsCommand.Export.self, columns: 1000)
        #expect(words.contains(PushService.list()))
    }
}
