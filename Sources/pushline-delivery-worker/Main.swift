import ArgumentParser
import PushModel
import Runtime

@main
struct PushlineDeliveryWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-delivery-worker",
        abstract: "Delivery worker: sends batches to the push services and records the outcome of each device.",
        version: pushlineVersion
    )

    @OptionGroup var options: ProcessOptions

    func run() async throws { try await self.options.run(.deliveryWorker) }
}
