import HTTPTypes
import Hub
import HubWire
import Payloads
import PushModel
import WebServing

/// A send to the templates of registrations.
struct TemplateSend {
    let form: HubSend.Form
    /// The properties as their sender wrote them.
    let original: HubSend.Original?

    /// Whether a request is one.
    static func isMeant(by request: HubRequest) -> Bool {
        request.header(WireNames.format)?.lowercased() == WireNames.templateFormat
    }

    /// Reads the properties, and the headers that each service takes of them.
    ///
    /// - Throws: ``Problem`` or `InvalidValue` that names the property.
    init(_ request: HubRequest) throws {
        guard !request.target.has("direct"), request.header(WireNames.deviceHandle) == nil else {
            throw Problem(.badRequest, "a send to templates goes to registrations, and not to a handle")
        }
        let given = try SendHeaders(request)
        let headers = given.apns() + given.wns()
        let values = try TemplateProperties(reading: request.body).values
        self.form = .template(
            Content.Properties(
                values,
                headers: headers.map { NativePayload.Header($0.name, $0.value) }.filter(\.isSafe)
            )
        )
        let isSame = request.body == JSONValue.texts(values).bytes
        self.original = HubSend.Original(body: isSame ? nil : String(decoding: request.body, as: UTF8.self))
    }
}
