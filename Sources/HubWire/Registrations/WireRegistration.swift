/// A registration as the wire of a hub describes it.
package struct WireRegistration: Sendable, Equatable {
    package var platform: WirePlatform
    package var id: String?
    /// The bare number.
    package var etag: String?
    /// As the text says; nil = not said.
    package var expirationTime: String?
    package var tags: [String]
    /// One JSON object of texts.
    package var pushVariables: String?
    /// The parts of the handle, as ``WirePlatform/handleElements`` names them.
    package var handle: [String]
    package var secondaryTileName: String?
    /// nil = it is for native notifications.
    package var template: WireTemplate?

    package init(platform: WirePlatform, id: String? = nil, handle: [String], tags: [String] = []) {
        self.platform = platform
        self.id = id
        self.handle = handle
        self.tags = tags
    }

    /// The name of its description, such as `AppleTemplateRegistrationDescription`.
    package var descriptionName: String {
        "\(self.platform.descriptionName)\(self.template == nil ? "" : "Template")RegistrationDescription"
    }
}

/// What a template registration has besides its handle.
package struct WireTemplate: Sendable, Equatable {
    package var body: String
    package var name: String?
    package var headers: [Header]
    /// When APNs is to give up: a constant, or an expression.
    package var expiry: String?
    /// APNs' priority: a constant, or an expression.
    package var priority: String?
    /// Of Baidu.
    package var messageType: String?

    /// A header and its value, which may be an expression.
    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(body: String, name: String? = nil, headers: [Header] = []) {
        self.body = body
        self.name = name
        self.headers = headers
    }
}
