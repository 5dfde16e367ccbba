package import PushModel

/// The addresses of a simulator that runs, by name; only beginnings of channels end with a slash.
package struct SimulatorURLs: Sendable, Codable, Equatable {
    /// The name of the control address.
    private static let controlName = "control"

    /// By name, as in the state file.
    package let all: [String: String]

    init(ports: [PushService: Int], control: Int) {
        var all = [Self.controlName: "http://127.0.0.1:\(control)"]
        for simulated in SimulatedService.all {
            let origin = "https://127.0.0.1:\(ports[simulated.service] ?? 0)"
            all[simulated.service.rawValue] = origin
            for (name, path) in simulated.paths { all[name] = origin + path }
        }
        self.all = all
    }

    package init(from decoder: any Decoder) throws {
        self.all = try decoder.singleValueContainer().decode([String: String].self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.all)
    }

    /// `http://127.0.0.1:…`, for `/received`, `/counts`, `/faults`, `/reset`, `/healthz`.
    package var control: String { self[Self.controlName] }

    /// A service's own address.
    package subscript(service: PushService) -> String { self[service.rawValue] }

    /// An address by name; empty where there is none.
    subscript(name: String) -> String { self.all[name] ?? "" }
}
