import Hub
import ServiceLifecycle

/// Lets the hub do what it does behind its answers, in every process that has sends fanned out or published again.
///
/// Once a process, whoever uses the hub there.
struct HubRunner: Service {
    let hub: any NotificationHub

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.hub.run() }
    }
}
