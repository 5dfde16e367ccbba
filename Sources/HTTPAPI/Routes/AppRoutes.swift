import HTTPTypes
import Hummingbird
import PushModel
import WebServing

/// What an app is declared as, for its operators: without the paths of the host's files.
struct AppRoutes: Sendable {
    var routes: [Route] { [Route(.get, "/api/app", handler: self.show)] }

    private func show(_ request: APIRequest) throws -> Response {
        try request.caller.requireSeeingAll()
        _ = try request.query.strict(known: [])
        let spec = request.spec
        let services = spec.services.map { pns in
            JSONValue.members([
                "service": .string(pns.rawValue),
                "credentials": .array(
                    spec.credentials.names(of: pns).compactMap { name in
                        spec.credentials[pns, name].map { Self.text($0, named: name) }
                    }
                ),
            ])
        }
        return .json(
            .members([
                "name": .string(request.app.name), "hub": .string(spec.azureHub == nil ? "embedded" : "azure"),
                "services": .array(services), "declaration": Self.withoutFiles(spec.written),
            ])
        )
    }

    /// What a credential is for; its keys stand in files.
    private static func text(_ credentials: any ServiceCredentials, named name: CredentialName) -> JSONValue {
        var shown: [String: JSONValue] = [:]
        if case .object(let members) = credentials.written {
            for member in members where member.value != .null { shown[member.name] = member.value }
        }
        return .members([
            "name": .string(name.name), "topic": shown["topic"], "endpoint": shown["endpoint"],
            "devicesPerSecond": credentials.devicesPerSecond.map { .integer($0) },
        ])
    }

    /// The keys of a declaration but for those that name a file.
    private static func withoutFiles(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let members):
            .object(
                members.filter { !$0.name.hasSuffix("_file") }.map { .init($0.name, self.withoutFiles($0.value)) }
            )
        case .array(let values): .array(values.map(self.withoutFiles))
        default: value
        }
    }
}
