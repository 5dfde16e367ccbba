import Foundation

/// What a device remembers of its registration.
struct RegistrationState: Codable, Equatable {
    /// What the server confirmed.
    struct Registered: Codable, Equatable {
        let server: String
        let app: String?
        let user: String
        /// Each tag once, in order.
        let device: Device
        let at: Date

        init(_ device: Device, user: String, client: PushlineClient, at: Date) {
            self.server = client.url.absoluteString
            self.app = client.app
            self.user = user
            var device = device
            device.tags = Set(device.tags).sorted()
            self.device = device
            self.at = at
        }

        /// Whether the server needs not hear of a registration that is wanted now.
        func stands(for wanted: Registered, renewedEvery renewal: Duration) -> Bool {
            // A clock that went back proves nothing.
            let age = wanted.at.timeIntervalSince(self.at)
            guard age >= 0, age < renewal / .seconds(1) else { return false }
            return self.server == wanted.server && self.app == wanted.app && self.user == wanted.user
                && self.device == wanted.device
        }
    }

    /// The id, from the moment at which the server gave it.
    var id: String?
    /// nil = the server may have anything.
    var registered: Registered?

    init(id: String? = nil, registered: Registered? = nil) {
        self.id = id
        self.registered = registered
    }

    /// Reads what was kept; nil if that is damaged.
    init?(data: Data) {
        guard let state = try? Coding.decoder().decode(Self.self, from: data) else { return nil }
        if let id = state.id, !Self.isID(id) { return nil }
        self = state
    }

    func data() throws -> Data { try Coding.body(self) }

    /// Whether it can be an id: anything else would become another path of the server.
    static func isID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text != "." && text != ".." && PushlineClient.escape(text) == text
    }
}
