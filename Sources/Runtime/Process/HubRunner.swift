import Hub
import ServiceLifecycle

/// Runs the hub's background work in every process with fan-out or publication.
///
/// Once per process, however many of its services use the hub.
struct HubRunner: Service {
    let hub: any NotificationHub

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.hub.run() }
    }
}
