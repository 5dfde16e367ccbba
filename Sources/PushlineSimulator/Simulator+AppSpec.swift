package import PushModel

extension Simulator {
    /// The declaration of an app whose pushes all go to this simulator, as in `apps.yaml`.
    package var appSpec: AppSpec {
        get throws {
            let credentials = try self.credentials
            let urls = try self.urls
            return AppSpec { spec in
                for simulated in SimulatedService.all {
                    spec.credentials[simulated.service] = simulated.declaration(credentials, urls)
                }
            }
        }
    }
}
