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
        package static var service: PushService { .apns }
        package static let help =
            "Apple Push Notification service, with a key from the developer account, or with a certificate"

        @Setting(.path, "the .p8 file, as Apple gives it", example: "secrets/AuthKey_ABC1234567.p8", isUsual: true)
        package var keyFile: String? = nil
        @Setting(.text, "the key's id", example: "ABC1234567", isUsual: true) package var keyID: String? = nil
        @Setting(.text, "the team's id", example: "DEF1234567", isUsual: true) package var teamID: String? = nil
        @Setting(
            .path,
            """
            in place of key_file, key_id and team_id: the app's provider certificate, a .p12 archive or PEM; it serves for the topics that \
            it names, a key for all apps of the team
            """,
            example: "secrets/push.p12"
        )
        package var certificateFile: String? = nil
        @Setting(
            .path,
            "the certificate's private key, PEM; unless said it is in certificate_file",
            example: "secrets/push.key"
        )
        package var privateKeyFile: String? = nil
        @Setting(
            .path,
            "file that holds the password of the archive or the key, and nothing else; unless said they have none",
            example: "secrets/push-password"
        )
        package var certificatePasswordFile: String? = nil
        @Setting(required: .topic, "the app's bundle id", example: "com.example.app") package var topic: String
        @Setting(.address, "https://api.sandbox.push.apple.com for development builds of an app")
        package var endpoint = "https://api.push.apple.com"
        @Setting(
            .address,
            "where channels are managed; for simulators; unless said Apple's host beside endpoint",
            example: "\"https://127.0.0.1:9444\""
        )
        package var channelsEndpoint: String? = nil
        @Setting(.path, ServiceWords.trustFile, example: "secrets/simulator.pem") package var trustFile: String? = nil
        @Setting(.integer(ServiceWords.rates), ServiceWords.rate, example: "5000")
        package var devicesPerSecond: Int? = nil

        package init() {}
    }
}

extension AppSpec.APNs {
    /// How a provider shows who it is.
    package enum Authentication: Sendable, Equatable {
        /// With a token in each request.
        case token(Token)
        /// With a certificate in the TLS handshake.
        case certificate(Certificate)
    }

    /// A key from the developer account, and what its tokens say.
    package struct Token: Sendable, Equatable {
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
    package struct Certificate: Sendable, Equatable {
        /// A `.p12` archive, or PEM.
        package var file: String
        /// The private key, PEM; nil = it is in ``file``.
        package var privateKeyFile: String?
        /// The file with the password of archive or key as its only content; nil = there is none.
        package var passwordFile: String?

        package init(file: String, privateKeyFile: String? = nil, passwordFile: String? = nil) {
            self.file = file
            self.privateKeyFile = privateKeyFile
            self.passwordFile = passwordFile
        }
    }

    package var authentication: Authentication {
        get {
            guard let file = self.certificateFile else {
                let (id, team) = (self.keyID ?? "", self.teamID ?? "")
                return .token(Token(keyFile: self.keyFile ?? "", keyID: id, teamID: team))
            }
            let (key, password) = (self.privateKeyFile, self.certificatePasswordFile)
            return .certificate(Certificate(file: file, privateKeyFile: key, passwordFile: password))
        }
        set {
            (self.keyFile, self.keyID, self.teamID) = (nil, nil, nil)
            (self.certificateFile, self.privateKeyFile, self.certificatePasswordFile) = (nil, nil, nil)
            switch newValue {
            case .token(let token): (self.keyFile, self.keyID, self.teamID) = (token.keyFile, token.keyID, token.teamID)
            case .certificate(let given):
                (self.certificateFile, self.privateKeyFile) = (given.file, given.privateKeyFile)
                self.certificatePasswordFile = given.passwordFile
            }
        }
    }

    /// One way or the other, and all of it.
    package var fault: SettingFault? {
        let ofToken = [("key_file", self.keyFile), ("key_id", self.keyID), ("team_id", self.teamID)]
        let ofCertificate = [
            ("certificate_file", self.certificateFile), ("private_key_file", self.privateKeyFile),
            ("certificate_password_file", self.certificatePasswordFile),
        ]
        switch (ofToken.first { $0.1 != nil }, ofCertificate.first { $0.1 != nil }) {
        case (let key?, let other?):
            return SettingFault(
                "cannot stand beside \(key.0): declare either a key (key_file, key_id, team_id) or a certificate (certificate_file)",
                path: other.0
            )
        case (nil, nil):
            return SettingFault(
                "is missing, with key_id and team_id; or declare a certificate with certificate_file",
                path: "key_file"
            )
        case (_?, nil): return ofToken.first { $0.1 == nil }.map { SettingFault("is missing", path: $0.0) }
        case (nil, _?):
            return self.certificateFile == nil ? SettingFault("is missing", path: "certificate_file") : nil
        }
    }
}

extension SettingKind where Value == String {
    /// A bundle id, which is a header, and a part of a path.
    fileprivate static var topic: Self {
        .text.checked { topic throws(InvalidValue) in
            guard topic.utf8.allSatisfy(Self.isBundleByte) else {
                throw InvalidValue("is not a bundle id, of letters, digits, dots and hyphens")
            }
        }
    }

    private static func isBundleByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
