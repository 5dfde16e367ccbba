import HTTPAPI
import HTTPTypes
import Hub
import HubWire
import Payloads
import PushModel

/// A send to the templates of registrations.
struct TemplateSend {
    let form: HubSend.Form

    /// Whether a request is one.
    static func isMeant(by request: HubRequest) -> Bool {
        request.header(WireNames.format)?.lowercased() == WireNames.templateFormat
    }

    /// Reads the properties, and the headers that each service takes of them.
    ///
    /// - Throws: ``WireHost/Refusal`` or `InvalidValue` that names the property.
    init(_ request: HubRequest) throws {
        guard !request.target.has("direct"), request.header(WireNames.deviceHandle) == nil else {
            throw WireHost.Refusal(.badRequest, "a send to templates goes to registrations, and not to a handle")
        }
        let headers = NativeSend.apnsHeaders(request) + NativeSend.wnsHeaders(request)
        self.form = .template(
            Content.Properties(
                try TemplateProperties(reading: request.body).values,
                headers: headers.map { NativePayload.Header($0.name, $0.value) }.filter(\.isSafe)
            )
        )
    }
}
