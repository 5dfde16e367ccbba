extension AppSpec {
    /// An app's hub at Azure Notification Hubs, or at anything that speaks its wire.
    ///
    /// Such an app has no credentials for push services: the hub has them.
    package struct AzureHub: Codable, Sendable, Equatable {
        /// The file with the connection string of a rule that may manage the hub.
        package var connectionStringFile: String
        /// The hub's name.
        package var name: String
        /// The services that a send goes to which names none: one call to the hub for each.
        package var platforms: [PushService]
        /// Certificates to trust instead of the system's, PEM; nil = the system's.
        package var trustFile: String?

        /// The services that a hub of Azure and we know.
        package static let offered: [PushService] = [.apns, .fcm, .wns]

        package init(
            connectionStringFile: String,
            name: String,
            platforms: [PushService] = Self.offered,
            trustFile: String? = nil
        ) {
            self.connectionStringFile = connectionStringFile
            self.name = name
            self.platforms = platforms
            self.trustFile = trustFile
        }
    }
}
