package import PushModel

/// The addresses of a simulator that runs, by name; only beginnings of channels end with a slash.
package struct SimulatorURLs: Sendable, Codable, Equatable {
    /// The name of the control address.
    private static let controlName = "control"

    /// By name, as in the state file.
    package let all: [String: String]

    /// The ports of services and their further ones, by name, and that of the control address.
    init(ports: [String: Int], control: Int) {
        var all = [Self.controlName: "http://127.0.0.1:\(control)"]
        for (name, port) in ports { all[name] = "https://127.0.0.1:\(port)" }
        for simulated in SimulatedService.all {
            let origin = all[simulated.service.rawValue] ?? ""
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

    /// An address by name; empty if there is none.
    subscript(name: String) -> String { self.all[name] ?? "" }
}
