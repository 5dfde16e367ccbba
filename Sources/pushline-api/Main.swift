import ArgumentParser
import Installation
import Runtime

@main
struct PushlineAPI: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-api",
        abstract: "Accepts registrations and sends over HTTP, and says what became of them.",
        version: pushlineVersion
    )

    @OptionGroup var options: ProcessOptions

    func run() async throws { try await self.options.run(.api) }
}
