extension PushService.Descriptor {
    /// Apple Push Notification service.
    static let apns = PushService.Descriptor(
        title: "APNs",
        kinds: NativePayload.Kind.allOfAPNs + [.broadcast],
        handle: PushService.HandleForm(
            isHexadecimal: true,
            pattern: "^([0-9A-Fa-f]{2}){1,200}$",
            normalise: APNsToken.normalise
        ),
        credentials: AppSpec.APNs.self
    )
}

private enum APNsToken {
    static func normalise(_ text: String, _: [String]) throws(InvalidValue) -> String {
        if text.hasPrefix("{") {
            throw InvalidValue(
                "this is the printed form of a data object ({LENGTH=…,BYTES=…}), which iOS 13 and later give for "
                    + "NSData.description; send the token's bytes as hexadecimal digits"
            )
        }
        let lower = text.lowercased()
        let isHexadecimal = lower.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard isHexadecimal, lower.utf8.count.isMultiple(of: 2), lower.utf8.count <= 400 else {
            throw InvalidValue(
                "an APNs token is an even number of hexadecimal digits (at most 400), without spaces or brackets"
            )
        }
        return lower
    }
}

extension AppSpec {
    /// Credentials for APNs.
    package var apns: APNs? {
        get { self.credentials[APNs.self] }
        set { self.credentials[APNs.self] = newValue }
    }

    /// Credentials for APNs: a key that signs tokens, or a certificate.
    package struct APNs: ServiceCredentials {
        /// How a provider shows who it is.
        package enum Authentication: Sendable, Equatable {
            /// With a token in each request.
            case token(Token)
            /// With a certificate in the TLS handshake.
            case certificate(Certificate)
        }

        /// A key from the developer account, and what its tokens say.
        package struct Token: Codable, Sendable, Equatable {
            /// The `.p8` file: an EC P-256 private key, PKCS#8 PEM.
            package var keyFile: String
            package var keyID: String
            package var teamID: String

            package init(keyFile: String, keyID: String, teamID: String) {
                self.keyFile = keyFile
                self.keyID = keyID
                self.teamID = teamID
            }
        }

        /// A provider certificate and its private key.
        package struct Certificate: Codable, Sendable, Equatable {
            /// A `.p12` archive, or PEM.
            package var file: String
            /// The private key, PEM; nil = it is in ``file``.
            package var privateKeyFile: String?
            /// The file with the password of archive or key as its only content; nil = there is none.
            package var passwordFile: String?

            fileprivate enum CodingKeys: String, CodingKey {
                case file = "certificateFile"
                case privateKeyFile
                case passwordFile = "certificatePasswordFile"
            }

            package init(file: String, privateKeyFile: String? = nil, passwordFile: String? = nil) {
                self.file = file
                self.privateKeyFile = privateKeyFile
                self.passwordFile = passwordFile
            }
        }

        package var authentication: Authentication
        /// The app's bundle id.
        package var topic: String
        /// The endpoint; Apple's production service by default.
        package var endpoint: String
        /// The endpoint for managing channels; nil = Apple's host for it, or a simulator's `endpoint`.
        package var channelsEndpoint: String?
        /// Certificates to trust instead of the system's, PEM; for simulators.
        package var trustFile: String?
        /// The most devices to send to in a second; nil = as fast as it goes.
        package var devicesPerSecond: Int?

        package static let production = "https://api.push.apple.com"

        package init(
            _ authentication: Authentication,
            topic: String,
            endpoint: String = APNs.production,
            channelsEndpoint: String? = nil,
            trustFile: String? = nil,
            devicesPerSecond: Int? = nil
        ) {
            self.authentication = authentication
            self.topic = topic
            self.endpoint = endpoint
            self.channelsEndpoint = channelsEndpoint
            self.trustFile = trustFile
            self.devicesPerSecond = devicesPerSecond
        }
    }
}

extension AppSpec.APNs {
    package static var service: PushService { .apns }
    fileprivate static let tokenKeys = ["key_file", "key_id", "team_id"]
    fileprivate static let certificateKeys = ["certificate_file", "private_key_file", "certificate_password_file"]
    package static let keys =
        tokenKeys + certificateKeys + ["topic", "endpoint", "channels_endpoint", "trust_file", "devices_per_second"]

    package init(_ section: some SettingsSection) throws {
        let authentication = try Authentication(section)
        let topic = try section.required("topic", section.text)
        // It is a header, and a part of a path.
        guard topic.utf8.allSatisfy(Self.isBundleByte) else {
            throw section.error("topic", "is not a bundle id, of letters, digits, dots and hyphens")
        }
        self.init(
            authentication,
            topic: topic,
            endpoint: try section.address("endpoint") ?? Self.production,
            channelsEndpoint: try section.address("channels_endpoint"),
            trustFile: try section.file("trust_file"),
            devicesPerSecond: try section.devicesPerSecond()
        )
    }

    private static func isBundleByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    package var settings: KeyValuePairs<String, Setting?> {
        let token = self.authentication.token
        let certificate = self.authentication.certificate
        return [
            "key_file": (token?.keyFile).map(Setting.text),
            "key_id": (token?.keyID).map(Setting.text),
            "team_id": (token?.teamID).map(Setting.text),
            "certificate_file": (certificate?.file).map(Setting.text),
            "private_key_file": certificate?.privateKeyFile.map(Setting.text),
            "certificate_password_file": certificate?.passwordFile.map(Setting.text),
            "topic": .text(self.topic),
            "endpoint": .text(self.endpoint),
            "channels_endpoint": self.channelsEndpoint.map(Setting.text),
            "trust_file": self.trustFile.map(Setting.text),
            "devices_per_second": self.devicesPerSecond.map(Setting.number),
        ]
    }
}

extension AppSpec.APNs.Authentication {
    fileprivate var token: AppSpec.APNs.Token? { if case .token(let token) = self { token } else { nil } }

    fileprivate var certificate: AppSpec.APNs.Certificate? {
        if case .certificate(let certificate) = self { certificate } else { nil }
    }

    /// Reads the keys of one way or the other.
    fileprivate init(_ section: some SettingsSection) throws {
        let ofToken = try AppSpec.APNs.tokenKeys.first { try section.text($0) != nil }
        let ofCertificate = try AppSpec.APNs.certificateKeys.first { try section.text($0) != nil }
        switch (ofToken, ofCertificate) {
        case (let key?, let other?):
            throw section.error(
                other,
                "cannot stand beside \(key): declare either a key (key_file, key_id, team_id) or a certificate (certificate_file)"
            )
        case (nil, nil):
            throw section.error(
                "key_file",
                "is missing, with key_id and team_id; or declare a certificate with certificate_file"
            )
        case (_?, nil):
            self = .token(
                AppSpec.APNs.Token(
                    keyFile: try section.required("key_file", section.file),
                    keyID: try section.required("key_id", section.text),
                    teamID: try section.required("team_id", section.text)
                )
            )
        case (nil, _?):
            self = .certificate(
                AppSpec.APNs.Certificate(
                    file: try section.required("certificate_file", section.file),
                    privateKeyFile: try section.file("private_key_file"),
                    passwordFile: try section.file("certificate_password_file")
                )
            )
        }
    }
}

/// The stored form: one object, whichever way was declared, so that the members of a key are what they always were.
extension AppSpec.APNs {
    private enum CodingKeys: String, CodingKey {
        case topic, endpoint, channelsEndpoint, trustFile, devicesPerSecond
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            try Authentication(from: decoder),
            topic: try members.decode(String.self, forKey: .topic),
            endpoint: try members.decode(String.self, forKey: .endpoint),
            channelsEndpoint: try members.decodeIfPresent(String.self, forKey: .channelsEndpoint),
            trustFile: try members.decodeIfPresent(String.self, forKey: .trustFile),
            devicesPerSecond: try members.decodeIfPresent(Int.self, forKey: .devicesPerSecond)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        try self.authentication.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(self.topic, forKey: .topic)
        try members.encode(self.endpoint, forKey: .endpoint)
        try members.encodeIfPresent(self.channelsEndpoint, forKey: .channelsEndpoint)
        try members.encodeIfPresent(self.trustFile, forKey: .trustFile)
        try members.encodeIfPresent(self.devicesPerSecond, forKey: .devicesPerSecond)
    }
}

extension AppSpec.APNs.Authentication: Codable {
    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: AppSpec.APNs.Certificate.CodingKeys.self)
        self =
            members.contains(.file)
            ? .certificate(try AppSpec.APNs.Certificate(from: decoder)) : .token(try AppSpec.APNs.Token(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .token(let token): try token.encode(to: encoder)
        case .certificate(let certificate): try certificate.encode(to: encoder)
        }
    }
}
