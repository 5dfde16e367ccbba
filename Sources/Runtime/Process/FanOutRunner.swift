import Hub
import ServiceLifecycle

/// Runs the background work of fan-out in every process with fan-out or publication.
///
/// Once per process, however many of its services use it.
struct FanOutRunner: Service {
    let fanOut: any SendFanOut

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.fanOut.run() }
    }
}
