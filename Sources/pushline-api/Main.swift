import ArgumentParser
import PushModel
import Runtime

@main
struct PushlineAPI: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-api",
        abstract: "HTTP API: accepts registrations and sends, and reports their outcomes.",
        version: pushlineVersion
    )

    @OptionGroup var options: ProcessOptions

    func run() async throws { try await self.options.run(.api) }
}
