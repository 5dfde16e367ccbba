import ArgumentParser
import PushModel
import Runtime

@main
struct PushlineHub: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-hub",
        abstract: "Serves the hubs of apps on the wire of Azure Notification Hubs.",
        version: pushlineVersion
    )

    @OptionGroup var options: ProcessOptions

    func run() async throws { try await self.options.run(.hub) }
}
