import ArgumentParser
import PushModel
import Runtime

@main
struct PushlineRegisterWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-register-worker",
        abstract: "Register worker: applies device registrations to the hub.",
        version: pushlineVersion
    )

    @OptionGroup var options: ProcessOptions

    func run() async throws { try await self.options.run(.registerWorker) }
}
