package import PushModel

extension Simulator {
    /// An app whose every push goes to this simulator: what its `apps.yaml` declares.
    package var appSpec: AppSpec {
        get throws {
            let credentials = try self.credentials
            let urls = try self.urls
            return AppSpec(credentials: [
                AppSpec.APNs(
                    keyFile: credentials.apnsKeyFile,
                    keyID: credentials.apnsKeyID,
                    teamID: credentials.apnsTeamID,
                    topic: credentials.apnsTopic,
                    endpoint: urls.apns,
                    trustFile: credentials.trustFile
                ),
                AppSpec.FCM(
                    serviceAccountFile: credentials.fcmServiceAccountFile,
                    endpoint: urls.fcm,
                    trustFile: credentials.trustFile
                ),
                AppSpec.WNS(
                    clientID: credentials.wnsClientID,
                    clientSecretFile: credentials.wnsClientSecretFile,
                    tokenURL: urls.wnsToken,
                    scope: credentials.wnsScope,
                    channelPrefixes: [urls.wnsChannel],
                    trustFile: credentials.trustFile
                ),
            ])
        }
    }
}
