import ArgumentParser
import PushModel
import Runtime

@main
struct PushlineSendWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-send-worker",
        abstract: "Fans out sends: finds their devices and writes them in batches.",
        version: pushlineVersion
    )

    @OptionGroup var options: ProcessOptions

    func run() async throws { try await self.options.run(.sendWorker) }
}
