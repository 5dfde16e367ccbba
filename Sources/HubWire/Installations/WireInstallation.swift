package import PushModel

/// An installation as the wire of a hub has it: a device with an id that its client chose.
package struct WireInstallation: Sendable, Equatable {
    package var id: String
    package var platform: WirePlatform
    /// The platform's name as the client spells it; nil = as it is usual.
    package var platformName: String?
    /// The handle; of a browser the JSON text of its three parts.
    package var pushChannel: String
    /// Whether the channel is written as an object, and not as its text.
    package var isChannelObject = false
    package var userID: String?
    package var tags: [String] = []
    package var templates: [Template] = []
    package var pushVariables: [Variable] = []
    /// As the client wrote it.
    package var expirationTime: String?
    /// Whether the push service has said that the handle is dead; only a hub says so.
    package var isChannelExpired = false
    /// Whether there are secondary tiles, which no service of today has.
    package var hasSecondaryTiles = false

    /// A template and its name.
    package struct Template: Sendable, Equatable {
        package let name: String
        package var body: String
        package var headers: [WireTemplate.Header] = []
        package var expiry: String?
        package var tags: [String] = []

        package init(name: String, body: String) {
            self.name = name
            self.body = body
        }
    }

    /// A value of the device's own.
    package struct Variable: Sendable, Equatable {
        package let name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(id: String, platform: WirePlatform, pushChannel: String) {
        self.id = id
        self.platform = platform
        self.pushChannel = pushChannel
    }

    /// The JSON of an answer, with the members that say something.
    package var json: JSONValue {
        self.json(isExpired: self.isChannelExpired, expirationTime: self.expirationTime ?? WireTime.neverOfInstallation)
    }

    /// The JSON of a request: without what the hub decides.
    package var requestJSON: JSONValue { self.json(isExpired: nil, expirationTime: self.expirationTime) }

    private var channel: JSONValue {
        guard self.isChannelObject, let object = try? JSONReader.read(Array(self.pushChannel.utf8)) else {
            return .string(self.pushChannel)
        }
        return object
    }

    private func json(isExpired: Bool?, expirationTime: String?) -> JSONValue {
        .members([
            "installationId": .string(self.id),
            "userId": self.userID.map { .string($0) },
            "platform": .string(self.platformName ?? self.platform.installationName),
            "pushChannel": self.channel,
            "pushChannelExpired": isExpired.map { .bool($0) },
            "expirationTime": expirationTime.map { .string($0) },
            "tags": self.tags.isEmpty ? nil : .strings(self.tags),
            "templates": self.templates.isEmpty
                ? nil : .object(self.templates.map { JSONValue.Member($0.name, $0.json) }),
            "pushVariables": self.pushVariables.isEmpty
                ? nil : .object(self.pushVariables.map { JSONValue.Member($0.name, .string($0.value)) }),
        ])
    }
}

extension WireInstallation.Template {
    /// The JSON, in the form in which a client writes it.
    var json: JSONValue {
        .members([
            "body": .string(self.body),
            "headers": self.headers.isEmpty
                ? nil : .object(self.headers.map { JSONValue.Member($0.name, .string($0.value)) }),
            "expiry": self.expiry.map { .string($0) },
            "tags": self.tags.isEmpty ? nil : .strings(self.tags),
        ])
    }
}
