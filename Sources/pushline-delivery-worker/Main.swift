import ArgumentParser
import Installation
import Runtime

@main
struct PushlineDeliveryWorker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushline-delivery-worker",
        abstract: "Delivers batches to APNs, FCM and WNS, and records what came of each device.",
        version: pushlineVersion
    )

    @OptionGroup var options: ProcessOptions

    func run() async throws { try await self.options.run(.deliveryWorker) }
}
