import Logging

/// One server process: its parts, and their life together.
struct PushlineProcess {
    let role: ProcessRole
    let configuration: PushlineConfiguration

    /// Runs until SIGTERM or SIGINT, then drains.
    func run() async throws {
        let (logger, _) = Bootstrap.start(name: self.role.rawValue, configuration: self.configuration)
        logger.info("Started", metadata: ["version": "\(pushlineVersion)"])
    }
}
