import Payloads
import PushModel

/// What a send said, as `POST /api/sends` takes it, but for whom it is for and when.
struct SendMessageText {
    let send: SendRequest
    let priority: Priority
    let label: JobLabel?

    var value: JSONValue {
        var members: [(String, JSONValue?)] = []
        switch self.send.content {
        case .message(let message): members = Self.members(of: message)
        case .native(let native):
            members = native.message.map(Self.members) ?? []
            members.append(("native", Self.native(native.forms)))
        // Of the classic routes and of a hub's wire: there is nothing here that says the same.
        case .classic(let sender, let text): members = [("body", .string("From \(sender): \(text)"))]
        case .rich(let rich): members = [("body", .string(rich.message))]
        case .template(let properties):
            members = [
                (
                    "properties",
                    .object(properties.values.sorted { $0.key < $1.key }.map { .init($0.key, .string($0.value)) })
                )
            ]
        }
        members += [
            ("services", self.send.platforms.isEmpty ? nil : .strings(self.send.platforms.map(\.rawValue))),
            ("priority", self.priority == .normal ? nil : .string(self.priority.rawValue)),
            ("ttl", self.send.timeToLive.map { .integer(Int($0.components.seconds)) }),
            ("collapse", self.send.collapse.map { .string($0) }),
            ("label", self.label.map { .string($0.text) }),
            ("dryRun", self.send.isDryRun ? .bool(true) : nil),
        ]
        return .object(members.compactMap { name, value in value.map { JSONValue.Member(name, $0) } })
    }

    private static func members(of message: Content.Message) -> [(String, JSONValue?)] {
        let data = message.data.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
        let others = message.members?.values ?? []
        let plain = others.filter { !$0.name.contains(".") }.map { ($0.name, Optional($0.value)) }
        // What one service alone knows stands in an object of its name.
        let ofServices = ServiceFormat.all.map { format -> (String, JSONValue?) in
            let prefix = "\(format.service.rawValue)."
            let own = others.filter { $0.name.hasPrefix(prefix) }
            let members = own.map { JSONValue.Member(String($0.name.dropFirst(prefix.count)), $0.value) }
            return (format.service.rawValue, members.isEmpty ? nil : .object(members))
        }
        return [
            ("title", message.title.map { .string($0) }), ("body", message.body.map { .string($0) }),
            ("data", data.isEmpty ? nil : .object(data)),
        ] + plain + ofServices
    }

    private static func native(_ forms: [NativePayload]) -> JSONValue {
        .object(
            forms.compactMap { form in
                guard let format = ServiceFormat.of(form.kind.pns) else { return nil }
                let headers = form.headers.map { JSONValue.Member($0.name, .string($0.value)) }
                let body: JSONValue =
                    format.isJSON ? .written(form.body) : .string(String(decoding: form.body, as: UTF8.self))
                let members = [JSONValue.Member(format.form.member, body)]
                return JSONValue.Member(
                    form.kind.pns.rawValue,
                    .object(members + (headers.isEmpty ? [] : [JSONValue.Member("headers", .object(headers))]))
                )
            }
        )
    }
}

extension SendRequest {
    /// Whether its content was removed with a user: every send has some.
    var isEmptied: Bool { self.content == .message(Content.Message()) }
}
