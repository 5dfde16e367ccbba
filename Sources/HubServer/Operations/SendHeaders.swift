import HTTPTypes
import HubWire
import Payloads
import PushModel

/// The headers of a send that say something of its notification.
struct SendHeaders {
    private let request: HubRequest

    /// Headers of APNs that the app's own settings decide: its topic, and the id of each notification.
    private static let ours = ["apns-topic", "apns-id"]
    private static let apnsPrefix = "apns-"
    private static let otherAPNsPrefix = "x-apns-"
    private static let wnsPrefix = "x-wns-"
    private static let hubPrefix = "servicebusnotification-"

    private static let ofAPNs = Self.ours + (ServiceFormat.of(.apns)?.form.headers ?? [])
    /// By the beginnings of their names, the headers that are known, in lower case.
    private static let families: [(prefix: String, known: Set<String>)] = [
        (Self.apnsPrefix, Set(Self.ofAPNs)), (Self.otherAPNsPrefix, Set(Self.ofAPNs.map { "x-\($0)" })),
        (Self.wnsPrefix, Set((ServiceFormat.of(.wns)?.form.headers ?? []).map { $0.lowercased() })),
        (Self.hubPrefix, Set(WireNames.ofSends.map { $0.lowercased() })),
    ]

    /// - Throws: `InvalidValue` for an unknown header of a known family, whatever the format: its sender means something by it.
    init(_ request: HubRequest) throws(InvalidValue) {
        for field in request.headers {
            let name = field.name.canonicalName
            guard let family = Self.families.first(where: { name.hasPrefix($0.prefix) }) else { continue }
            guard family.known.contains(name) else {
                throw InvalidValue(
                    member: String(field.name.rawName.prefix(60)),
                    "is not known; known are \(family.known.sorted().joined(separator: ", "))"
                )
            }
        }
        self.request = request
    }

    /// Those of APNs, in its own spelling.
    func apns() -> [NativeForm.Header] {
        var headers: [NativeForm.Header] = []
        for field in self.request.headers {
            let name = field.name.canonicalName
            if name.hasPrefix(Self.apnsPrefix), !Self.ours.contains(name) { headers.append((name, field.value)) }
        }
        func add(_ name: String, _ value: String?) {
            guard let value, !headers.contains(where: { $0.name == name }) else { return }
            headers.append((name, value))
        }
        for name in Self.ofAPNs where !Self.ours.contains(name) {
            let value = self.request.header("x-\(name)")
            // A client writes it as seconds, or as it writes the hub's own.
            add(name, name == Self.expiration ? value.map { WireTime.expiration($0).map(String.init) ?? $0 } : value)
        }
        // What cannot be read is left out: the Java client sends one with every notification, in a form of its own.
        for name in WireNames.apnsExpiry {
            add(Self.expiration, self.request.header(name).flatMap(WireTime.expiration).map(String.init))
        }
        return headers
    }

    private static let expiration = "apns-expiration"

    /// Those of WNS.
    func wns() -> [NativeForm.Header] {
        self.request.headers.filter { $0.name.canonicalName.hasPrefix(Self.wnsPrefix) }
            .map { ($0.name.rawName, $0.value) }
    }
}
