import HTTPTypes
import Hub
import HubWire
import Payloads
import PushModel
import WebServing

/// A native notification of the wire, as its service's own form.
struct NativeSend {
    let platform: WirePlatform
    let pns: PushService
    let form: HubSend.Form
    /// What its sender wrote, where the form is another.
    let original: HubSend.Original?
    /// What of the payload does not go out.
    let warnings: [InvalidValue]

    /// Reads format, headers and body.
    ///
    /// - Throws: ``Problem`` or `InvalidValue` that names the header or member.
    init(_ request: HubRequest, body: [UInt8]) throws {
        guard let format = request.header(WireNames.format) else {
            throw Problem(.badRequest, "\(WireNames.format): is missing")
        }
        guard let platform = WirePlatform(format: format) else {
            throw Problem(.badRequest, "\(WireNames.format): \"\(format.prefix(40))\" is not a format")
        }
        guard let pns = platform.service, let form = ServiceFormat.of(pns)?.form else {
            throw Problem(
                .badRequest,
                "\(WireNames.format): the platform \(platform.rawValue.lowercased()) cannot be sent to"
            )
        }
        let given = try SendHeaders(request)
        let payload: JSONValue
        var headers: [NativeForm.Header] = []
        var warnings: [InvalidValue] = []
        switch platform {
        case .apple:
            payload = try Self.json(body)
            headers = given.apns()
        case .fcmV1: payload = try Self.message(in: Self.json(body))
        case .browser: payload = try Self.json(body)
        case .gcm:
            let translated = try LegacyFCM.translate(Self.json(body))
            (payload, warnings) = (translated.message, translated.warnings)
        default:
            guard let text = String(validating: body, as: UTF8.self) else {
                throw Problem(.badRequest, "the body must be UTF-8")
            }
            payload = .string(text)
            headers = given.wns()
        }
        let native = try form.read(payload, headers: headers, of: request.spec)
        self.platform = platform
        self.pns = pns
        self.form = .native(native)
        self.original = HubSend.Original(
            platform: platform.written,
            body: body == native.body ? nil : String(decoding: body, as: UTF8.self)
        )
        self.warnings = warnings
        _ = try PayloadFormatter.format(.native(.init(message: nil, forms: [native])), for: pns)
    }

    private static func json(_ body: [UInt8]) throws(Problem) -> JSONValue {
        do { return try JSONReader.read(body) } catch { throw .invalid(error) }
    }

    /// The object `message` of a send to FCM.
    private static func message(in body: JSONValue) throws(Problem) -> JSONValue {
        guard case .object(let members) = body, members.count == 1, members[0].name == "message" else {
            throw Problem(.badRequest, "the body must be an object with the one member message")
        }
        return members[0].value
    }
}
