package import PushModel

extension Simulator {
    /// An app whose every push goes to this simulator: what its `apps.yaml` declares.
    package var appSpec: AppSpec {
        get throws {
            let credentials = try self.credentials
            let urls = try self.urls
            return AppSpec(credentials: SimulatedService.all.map { $0.declaration(credentials, urls) })
        }
    }
}
