import Foundation
import PushModel

extension PushlineConfiguration {
    /// Variables named as ours are that mean nothing to any of our programs: misspelt, most likely.
    ///
    /// - Parameter environment: Variables; their values are not looked at.
    /// - Returns: The names, each with the nearest one that means something where one is near.
    package static func unknownVariables(
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> [String] {
        let settings = Self.rows.map(\.environmentVariable)
        let known = Set(settings + Self.otherVariables)
        return environment.keys.filter { $0.hasPrefix("PUSHLINE_") && !known.contains($0) }.sorted().map { name in
            NearestWord.to(name, among: settings).map { "\(name) (did you mean \($0)?)" } ?? name
        }
    }

    /// Variables that are not settings: of the command line tool, quickstart.env, builds and tests.
    private static let otherVariables = [
        "PUSHLINE_STORE", "PUSHLINE_URL", "PUSHLINE_KEY", "PUSHLINE_APP", "PUSHLINE_CA_FILE",
        "PUSHLINE_OPERATOR_KEY", "PUSHLINE_SENDER_KEY", "PUSHLINE_USERS", "PUSHLINE_SIMULATOR_URL",
        "PUSHLINE_WNS_CHANNEL", "PUSHLINE_LOGS", "PUSHLINE_HUB_CONNECTION", "PUSHLINE_HUB_NAME", "PUSHLINE_CA",
        "PUSHLINE_BENCHMARKS", "PUSHLINE_BIN", "PUSHLINE_CLOCK_JUMP", "PUSHLINE_CRASH_AT", "PUSHLINE_DIR",
        "PUSHLINE_STRICT", "PUSHLINE_TEST_BROKER_URL", "PUSHLINE_TEST_LEADER_KILLS",
        "PUSHLINE_TEST_POSTGRES", "PUSHLINE_TRIAL_STEPS", "PUSHLINE_WRITE_DOCS",
    ]
}
