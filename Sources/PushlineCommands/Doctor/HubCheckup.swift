import HubAzure
import PushModel

/// Asks the Azure hubs of apps for a registration, as the register worker would.
struct HubCheckup {
    func run(_ apps: [AppID: AppSpec]) async -> [Finding] {
        let declared = apps.compactMap { app, spec in spec.azureHub.map { (app, $0) } }.sorted { $0.0 < $1.0 }
        guard !declared.isEmpty else { return [] }
        let hubs = AzureHubs(logger: HostOptions.logger)
        var findings: [Finding] = []
        for (app, hub) in declared {
            let subject = "\(app) hub"
            if let fault = await hubs.fault(of: hub) {
                findings.append(.wrong(subject, fault))
            } else {
                findings.append(.right(subject, "the Azure hub \(hub.name) answers, and the rule may manage it"))
            }
        }
        await hubs.close()
        return findings
    }
}
