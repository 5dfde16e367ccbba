import Crypto
import CryptoExtras
import Foundation

/// What an app needs to send to a simulator: values, and the files that hold the secrets among them.
package struct SimulatorCredentials: Sendable {
    /// The folder that holds all the files.
    package var folder: String
    /// The authority to trust, PEM.
    package var trustFile: String
    package var trustPEM: String
    /// An app file for `pushline apps apply`, naming the files below.
    package var appsFile: String

    /// The `.p8` file of the APNs key: P-256, PKCS#8 PEM.
    package var apnsKeyFile: String
    package var apnsKeyPEM: String
    package var apnsKeyID: String
    package var apnsTeamID: String
    /// The bundle id, which is the topic of an alert.
    package var apnsTopic: String

    /// The service account's JSON.
    package var fcmServiceAccountFile: String
    package var fcmProject: String
    package var fcmClientEmail: String
    package var fcmPrivateKeyID: String
    package var fcmPrivateKeyPEM: String

    /// The client id of the newer generation of tokens.
    package var wnsClientID: String
    /// The package SID, the client id of the older generation.
    package var wnsPackageSID: String
    package var wnsClientSecretFile: String
    package var wnsClientSecret: String
    package var wnsScope: String

    static let wnsScope = "https://wns.windows.com/.default"
    static let wnsStoreScope = "notify.windows.com"

    init(folder: String, keys: KeyMaterial, topic: String) {
        self.folder = folder
        self.trustFile = folder + "/ca.pem"
        self.trustPEM = keys.authorityPEM
        self.appsFile = folder + "/apps.yaml"
        self.apnsKeyID = "SIMKEY0001"
        self.apnsTeamID = "SIMTEAM001"
        self.apnsKeyFile = folder + "/AuthKey_SIMKEY0001.p8"
        self.apnsKeyPEM = keys.apnsKey.pemRepresentation
        self.apnsTopic = topic
        self.fcmServiceAccountFile = folder + "/service-account.json"
        self.fcmProject = "pushline-simulator"
        self.fcmClientEmail = "sender@pushline-simulator.iam.gserviceaccount.com"
        self.fcmPrivateKeyID = "0123456789abcdef0123456789abcdef01234567"
        self.fcmPrivateKeyPEM = keys.serviceAccountKey.pkcs8PEMRepresentation
        self.wnsClientID = "11111111-2222-3333-4444-555555555555"
        self.wnsPackageSID = "ms-app://s-1-15-2-1111111111-2222222222-3333333333"
        self.wnsClientSecretFile = folder + "/wns-client-secret"
        self.wnsClientSecret = "simulated+secret/=%&" + String(keys.authorityPEM.utf8.count)
        self.wnsScope = Self.wnsScope
    }

    /// Writes the files, readable by their owner alone.
    func write(urls: SimulatorURLs, keys: KeyMaterial) throws {
        let files = FileManager.default
        try files.createDirectory(
            atPath: self.folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try self.write(String(decoding: keys.saved(), as: UTF8.self), to: self.folder + "/keys.json")
        try self.write(self.trustPEM, to: self.trustFile)
        try self.write(self.apnsKeyPEM, to: self.apnsKeyFile)
        try self.write(self.serviceAccount(urls: urls), to: self.fcmServiceAccountFile)
        try self.write(self.wnsClientSecret, to: self.wnsClientSecretFile)
        try self.write(self.apps(urls: urls), to: self.appsFile)
    }

    private func write(_ text: String, to path: String) throws {
        // Beside and renamed, so that a reader who watches the file never sees half of it.
        let fresh = path + ".new"
        let files = FileManager.default
        if files.fileExists(atPath: fresh) { try files.removeItem(atPath: fresh) }
        guard files.createFile(atPath: fresh, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]) else {
            throw SimulatorError("cannot write \(path)")
        }
        if files.fileExists(atPath: path) { try files.removeItem(atPath: path) }
        try files.moveItem(atPath: fresh, toPath: path)
    }

    private func serviceAccount(urls: SimulatorURLs) throws -> String {
        let members = [
            "type": "service_account",
            "project_id": self.fcmProject,
            "private_key_id": self.fcmPrivateKeyID,
            "private_key": self.fcmPrivateKeyPEM,
            "client_email": self.fcmClientEmail,
            "client_id": "100000000000000000001",
            "token_uri": urls.fcmToken,
        ]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(members), as: UTF8.self)
    }

    private func apps(urls: SimulatorURLs) -> String {
        """
        # Written by pushline-simulator at its start: an app whose every push goes to it.
        apps:
          default:
            apns:
              key_file: "\(self.apnsKeyFile)"
              key_id: "\(self.apnsKeyID)"
              team_id: "\(self.apnsTeamID)"
              topic: "\(self.apnsTopic)"
              endpoint: "\(urls.apns)"
              trust_file: "\(self.trustFile)"
            fcm:
              service_account_file: "\(self.fcmServiceAccountFile)"
              endpoint: "\(urls.fcm)"
              trust_file: "\(self.trustFile)"
            wns:
              client_id: "\(self.wnsClientID)"
              client_secret_file: "\(self.wnsClientSecretFile)"
              token_url: "\(urls.wnsToken)"
              scope: "\(self.wnsScope)"
              channel_prefixes: ["\(urls.wnsChannel)"]
              trust_file: "\(self.trustFile)"

        """
    }
}
