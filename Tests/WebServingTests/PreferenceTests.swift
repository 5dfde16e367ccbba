import Testing
import Undisturbed

@testable import WebServing

@Suite(.undisturbed) struct PreferenceTests {
    @Test(
        arguments: [
            (["respond-async"], true, nil), (["Respond-Async, WAIT=7"], true, 7), (["wait=3", "wait=9"], false, 3),
            (["wait = 4; x=y"], false, 4), (["return=minimal"], false, nil), ([], false, nil),
            (["wait=\"5\""], false, 5),
        ] as [([String], Bool, Int?)]
    )
    func preferencesAreRead(values: [String], respondAsync: Bool, wait: Int?) {
        let preference = Preference(values)
        #expect(preference.respondAsync == respondAsync)
        #expect(preference.wait == wait)
    }
}
