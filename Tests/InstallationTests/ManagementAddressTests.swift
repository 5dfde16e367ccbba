import Installation
import Settings
import Testing

@Suite struct ManagementAddressTests {
    @Test func theManagementAPIIsAskedAsTheBrokerUnlessSaidOtherwise() throws {
        func address(_ url: String) throws -> ManagementAddress? {
            let variables = [
                "PUSHLINE_BROKER_URL": "amqp://u:p%40ss@one/v%2Fh", "PUSHLINE_BROKER_MANAGEMENT_URL": url,
            ]
            return try Composition.management(try PushlineConfiguration(file: nil, environment: variables))
        }
        #expect(try address("") == nil)
        let same = ManagementAddress(url: "http://one:15672", username: "u", password: "p@ss", virtualHost: "v/h")
        #expect(try address("http://one:15672/") == same)
        let other = ManagementAddress(url: "https://m/rabbit", username: "a", password: "b:c", virtualHost: "v/h")
        #expect(try address("https://a:b%3Ac@m/rabbit") == other)
        for wrong in ["one:15672", "ftp://one", "http://", "http://one?x=1"] {
            #expect(throws: ConfigurationError.self) { try address(wrong) }
        }
    }
}
